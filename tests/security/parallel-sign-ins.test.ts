// Hashing many passwords at the same time doesn't keep the open API from answering.
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKey, signUp } from "../support/account.ts";
import { busyMs, measureStall } from "../support/machine-stall.ts";
import { callOpen } from "../support/open-call.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import type { TestInstance } from "../support/test-instance.ts";

let instance: TestInstance;
let baseUrl: string;
let key: string;

beforeAll(async () => {
  // Each sign-in comes from its own network, so that none is throttled before its password is checked.
  instance = await createPreparedInstance({ TRUSTED_PROXIES: "127.0.0.0/8" }, { deadlines: "product" });
  ({ baseUrl } = await instance.start());
  key = (await createKey(baseUrl, await signUp(baseUrl), "key")).key;
});
afterAll(async () => {
  await instance?.close();
});

/** Signs in from a network of its own. @returns the status. */
async function signInFrom(network: number): Promise<number> {
  const response = await fetch(`${baseUrl}/trpc/session.signIn`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Forwarded-For": `198.51.100.${network}` },
    // An email address without an account takes the same time.
    body: JSON.stringify({ email: `user-${network}@example.com`, password: "a horse that counts to ten" }),
  });
  await response.arrayBuffer();
  return response.status;
}

test("requests to the open API succeed during 200 parallel sign-ins", async () => {
  const stopMeasuring = await measureStall(baseUrl);
  let areSignInsDone = false;
  const signIns = Promise.all(Array.from({ length: 200 }, (_, index) => signInFrom(index + 1))).finally(
    () => {
      areSignInsDone = true;
    },
  );
  const statuses: number[] = [];
  const callUntilDone = async () => {
    do statuses.push((await callOpen(baseUrl, key, "/open/me")).status);
    while (!areSignInsDone);
  };
  // A request that isn't answered within two seconds gets 503.
  await Promise.all(Array.from({ length: 2 }, callUntilDone));
  const stallMs = await stopMeasuring();
  const others = statuses.filter((status) => status !== 200);
  // On a busy machine, some requests reach that deadline for another reason.
  expect(stallMs < busyMs ? others : others.filter((status) => status !== 503)).toEqual([]);
  expect(statuses.length - others.length).toBeGreaterThan(0);
  const results = await signIns;
  // Beyond the passwords that may wait, the node rejects sign-ins.
  expect(results.filter((status) => status !== 401 && status !== 503)).toEqual([]);
  expect(results.filter((status) => status === 401).length).toBeGreaterThan(0);
  console.info(
    `${statuses.length} requests during 200 sign-ins, of which ${results.filter((status) => status === 401).length} checked a password`,
  );
});
