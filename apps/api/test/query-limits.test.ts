import { measureLeastCpuMs } from "@latchkey/db/testing/cpu-time";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sendRaw, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
let secret: string;
beforeAll(async () => {
  app = await startTestApp();
  secret = (await app.addKey()).secret;
});
afterAll(() => app.close());

async function send(target: string, headers = `Authorization: Bearer ${secret}`, method = "GET") {
  const head = `Host: ${new URL(app.baseUrl).host}\r\n${headers}\r\nConnection: close`;
  const { status, body } = await sendRaw(app.baseUrl, `${method} ${target} HTTP/1.1\r\n${head}\r\n\r\n`);
  const { error } = JSON.parse(body);
  return [status, error.code, error.message];
}

const tooLong = [400, "BAD_REQUEST", "The query string is too long. At most 4096 bytes are allowed"];
const tooMany = [400, "BAD_REQUEST", "The query string has too many parameters. At most 50 are allowed"];

describe.each(["/open/me", "/open/nowhere", "/trpc/session.current", "/sign-in", "/docs", "/healthz"])(
  "the query string of %s",
  (path) => {
    test("has at most 4,096 bytes", async () => {
      expect(await send(`${path}?input=${"x".repeat(4_091)}`)).toEqual(tooLong);
    });

    test("has at most 50 parameters", async () => {
      expect(await send(`${path}?${"a&".repeat(50)}a`)).toEqual(tooMany);
    });
  },
);

test.each(["/open/keys/verify", "/open/keys/verify-batch"])(
  "the query string of a verification at %s has the limits of other query strings",
  async (path) => {
    const post = (query: string) => send(`${path}?${query}`, undefined, "POST");
    expect(await post(`input=${"x".repeat(4_091)}`)).toEqual(tooLong);
    expect(await post(`${"a&".repeat(50)}a`)).toEqual(tooMany);
  },
);

test("under /open, the key is checked before the limits of the query string", async () => {
  const target = `/open/me?${"a&".repeat(7_900)}`;
  expect(await send(target, "X-Test: 1")).toEqual([401, "UNAUTHORIZED", "Authorization not provided"]);
  const wrong = `Authorization: Bearer lk_${"0".repeat(36)}`;
  expect(await send(target, wrong)).toEqual([403, "FORBIDDEN", "Insufficient access"]);
});

test("a batch of tRPC calls may use the whole query string", async () => {
  const { client } = openClient(app.baseUrl);
  const { email } = await app.addUser();
  await client.session.signIn.mutate({ email, password: "correct horse battery staple" });
  const search = "語".repeat(100);
  const searches = await Promise.all([1, 2].map((page) => client.apiKeys.list.query({ search, page })));
  expect(searches.map(({ total }) => total)).toEqual([0, 0]);
});

/** Targets near the 16 KiB that Node accepts for the headers of a request. */
const targetSuffixes = {
  "parameters without a value": `?${"a&".repeat(7_900)}`,
  "distinct parameters": `?${Array.from({ length: 2_600 }, (_, index) => index.toString(36)).join("=&")}`,
  "repeated parameters": `?${"a=1&".repeat(3_950)}`,
  "percent-encoded bytes": `?a=${"%ff".repeat(5_200)}`,
  "one long parameter": `?a=${"+".repeat(15_700)}`,
  "a query string within the limits": `?${"a&".repeat(49)}${"%e8%aa%9e".repeat(440)}`,
  "path segments": "/a".repeat(7_800),
  "encoded path segments": "/%2e%2e".repeat(2_200),
  "a fragment": `#${"?a&".repeat(5_200)}`,
};
const requests = Object.keys(targetSuffixes).flatMap((name) =>
  ["/open/me", "/trpc/session.current", "/sign-in"].map((path) => [name, path] as const),
);

test.each(requests)("%s after %s use less than 20 ms of CPU time", async (name, path) => {
  const target = path + targetSuffixes[name as keyof typeof targetSuffixes];
  // The server and the client run on this thread.
  const leastMs = await measureLeastCpuMs(() => send(target).catch(() => undefined));
  expect(leastMs).toBeLessThan(20);
});
