import { encodeId } from "@latchkey/db/ids";
import { disableUser } from "@latchkey/db/users";
import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { prepareEmailChange } from "../src/domain/email-change.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";

// Sign-ins and sign-ups from many IP addresses, which a trusted proxy forwards.

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({
    eventLog: { firstIntervalMs: 1_000, maxIntervalMs: 1_000 },
    trustedProxies: ["127.0.0.1"],
    maxSignUpsPerHour: 3,
  });
});
afterAll(() => app.close());
beforeEach(async () => {
  await sql`truncate throttle_buckets, sign_in_origins`.execute(app.owner);
});

interface Reply {
  readonly status: number;
  readonly code: string | undefined;
  readonly retryAfter: string | null;
  readonly cookies: readonly string[];
  readonly body: { readonly error?: { readonly message: string; readonly data: Record<string, unknown> } };
}

interface Sender {
  readonly address?: string;
  readonly cookie?: string;
  readonly requestId?: string;
  readonly origin?: TestApp;
}

async function call(procedure: string, input: unknown, sender: Sender = {}): Promise<Reply> {
  const { address = "203.0.113.7", cookie, requestId, origin = app } = sender;
  const response = await fetch(`${origin.baseUrl}/trpc/session.${procedure}`, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "X-Forwarded-For": address,
      ...(cookie ? { Cookie: cookie } : {}),
      ...(requestId ? { "X-Request-Id": requestId } : {}),
    },
    body: JSON.stringify(input),
  });
  const body = (await response.json()) as Reply["body"];
  return {
    status: response.status,
    code: body.error?.data.code as string | undefined,
    retryAfter: response.headers.get("Retry-After"),
    cookies: response.headers.getSetCookie().map((line) => line.split(";")[0] ?? ""),
    body,
  };
}

const signIn = (email: string, sent: string, sender?: Sender) =>
  call("signIn", { email, password: sent }, sender);
const fail = (email: string, sender?: Sender) => signIn(email, "a wrong password", sender);
const signUp = (sender?: Sender, account: object = {}) =>
  call(
    "signUp",
    { name: "Ada Lovelace", email: `${crypto.randomUUID()}@example.com`, password, ...account },
    sender,
  );

async function exceedLimit(email: string, sender?: Sender): Promise<Reply> {
  for (let count = 0; count < 10; count += 1) expect((await fail(email, sender)).status).toBe(401);
  return await fail(email, sender);
}

/** Returns the log lines about sign-ins and sign-ups since the last call. */
let readCount = 0;
function nextLogLines(): Record<string, unknown>[] {
  const lines = app.readLog().split("\n").slice(0, -1);
  const newLines = lines.slice(readCount).map((line) => JSON.parse(line) as Record<string, unknown>);
  readCount = lines.length;
  return newLines.filter(({ msg }) => /sign/.test(String(msg)));
}

describe("too many wrong passwords", () => {
  test("get 429 with Retry-After, even with the right password, but not from another network", async () => {
    const { email } = await app.addUser();
    const throttled = await exceedLimit(email);
    expect(throttled).toMatchObject({ status: 429, code: "TOO_MANY_REQUESTS" });
    expect(Number(throttled.retryAfter)).toBeGreaterThan(60);
    expect(throttled.body.error?.data.retryAfterSeconds).toBe(Number(throttled.retryAfter));
    expect(throttled.body.error?.message).toMatch(/^Too many sign-in attempts\. Try again in \d+ seconds\.$/);
    expect((await signIn(email, password)).status).toBe(429);
    expect((await signIn(email, password, { address: "198.51.100.9" })).status).toBe(200);
  });

  test("don't lock a user out of a browser in which they have signed in", async () => {
    const { email } = await app.addUser();
    const first = await signIn(email, password);
    const device = first.cookies.find((cookie) => cookie.startsWith("latchkey-device=")) ?? "";
    expect(first.cookies).toHaveLength(2);
    const signedOut = await call("signOut", undefined, { cookie: first.cookies.join("; ") });
    expect(signedOut.cookies.join()).not.toContain("latchkey-device");
    expect((await exceedLimit(email)).status).toBe(429);
    const again = await signIn(email, password, { cookie: device });
    expect([again.status, again.cookies.includes(device)]).toEqual([200, true]);
  });

  test("don't lock a user out of the browser in which they have confirmed a new email address", async () => {
    const { email: former, userId } = await app.addUser();
    const { cookies } = await signIn(former, password);
    const device = cookies.find((cookie) => cookie.startsWith("latchkey-device=")) ?? "";
    const email = `${crypto.randomUUID()}@example.com`;
    const link = await prepareEmailChange(app.services.db, { userId, email }, app.baseUrl);
    const token = link?.split("#")[1];
    const confirmed = await call("confirmEmailChange", { token }, { cookie: cookies.join("; ") });
    expect(confirmed.status).toBe(200);
    expect((await exceedLimit(email)).status).toBe(429);
    expect((await signIn(email, password, { cookie: device })).status).toBe(200);
  });

  test("don't lock a user out of a known network, even after attacks from 50 networks", async () => {
    const { email } = await app.addUser();
    await signIn(email, password);
    for (let number = 0; number < 50; number += 1) await fail(email, { address: `2001:db8:0:${number}::1` });
    expect((await fail(email, { address: "2001:db8:1::1" })).status).toBe(429);
    expect((await signIn(email, password)).status).toBe(200);
  });

  test("can't be sent in one batch", async () => {
    const { email } = await app.addUser();
    const batch = async (procedures: string) => {
      const input = { email, password: "a wrong password" };
      const response = await fetch(`${app.baseUrl}/trpc/${procedures}?batch=1`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ 0: input, 1: input }),
      });
      return response.status;
    };
    for (const procedures of [
      "session.signIn,session.signIn",
      "session.signIn%2Csession.signIn",
      "session.signIn,session.signUp",
    ])
      expect(await batch(procedures)).toBe(400);
    const { rows } = await sql`select from throttle_buckets`.execute(app.owner);
    expect(rows).toEqual([]);
  });

  test("are not counted if no password was checked", async () => {
    const own = await startTestApp();
    onTestFinished(() => own.close());
    const { email } = await own.addUser();
    await own.owner.schema.alterTable("accounts").renameTo("elsewhere").execute();
    for (let count = 0; count < 12; count += 1) expect((await fail(email, { origin: own })).status).toBe(500);
    await own.owner.schema.alterTable("elsewhere").renameTo("accounts").execute();
    expect((await signIn(email, password, { origin: own })).status).toBe(200);
  });
});

describe("an email address without an account", () => {
  test("gets the same responses and throttling as one with an account", async () => {
    const { email } = await app.addUser();
    const { email: disabled, userId } = await app.addUser();
    await app.services.db.transaction().execute((trx) => disableUser(trx, userId));
    const listResponses = async (to: string, address: string, sent: string) => {
      const responses: unknown[] = [];
      for (let count = 0; count < 12; count += 1) {
        const { status, body, cookies } = await signIn(to, sent, { address });
        const { requestId, retryAfterSeconds, stack, ...data } = body.error?.data ?? {};
        responses.push([status, body.error?.message.replace(/\d+/, "N"), data, cookies]);
      }
      return responses;
    };
    const known = await listResponses(email, "198.51.100.1", "a wrong password");
    expect(await listResponses("nobody@example.com", "198.51.100.2", "a wrong password")).toEqual(known);
    expect(await listResponses(disabled, "198.51.100.3", password)).toEqual(known);
  });

  test("takes as much CPU time as one with an account, so the duration reveals nothing", async () => {
    const { email } = await app.addUser();
    const least = { known: Number.POSITIVE_INFINITY, unknown: Number.POSITIVE_INFINITY };
    for (let round = 0; round < 8; round += 1) {
      for (const [who, to] of [
        ["known", email],
        ["unknown", "nobody@example.com"],
      ] as const) {
        // The CPU time of this process includes the threads that hash passwords. Unlike the elapsed time, it
        // doesn't depend on other processes.
        const before = process.cpuUsage();
        await fail(to, { address: `2001:db8:0:${round}::1` });
        const { user, system } = process.cpuUsage(before);
        least[who] = Math.min(least[who], (user + system) / 1_000);
      }
    }
    const ratio = least.unknown / least.known;
    // Without a hash for unknown email addresses, the ratio would be 0.1.
    expect(ratio, JSON.stringify(least)).toBeGreaterThan(0.6);
    expect(ratio, JSON.stringify(least)).toBeLessThan(1.6);
  });
});

test("60 connections from one IP address don't prevent a sign-in from another", async () => {
  const { email } = await app.addUser();
  const signInDuringFlood = async (address: string) => {
    let responseCount = 0;
    const flood = Array.from({ length: 60 }, async (_, number) => {
      const { status } = await fail(`${number}@example.com`, { address });
      responseCount += 1;
      return status;
    });
    expect((await signIn(email, password)).status).toBe(200);
    const responsesBefore = responseCount;
    const statuses = new Set(await Promise.all(flood));
    // Whether attempts are throttled or rejected by a full queue depends on the speed of the database.
    expect(statuses.difference(new Set([401, 429, 503]))).toEqual(new Set());
    expect(statuses.has(401)).toBe(true);
    expect(statuses.has(429) || statuses.has(503)).toBe(true);
    return responsesBefore;
  };
  // On a busy machine, the sign-in may reach the queue after the flood has left it, so there are up to five
  // attempts. In a queue that isn't fair, the sign-in is always last.
  const floods: number[] = [];
  while (floods.length < 5 && !floods.some((responses) => responses < 60))
    floods.push(await signInDuringFlood(`198.51.100.${66 + floods.length}`));
  expect(Math.min(...floods)).toBeLessThan(60);
});

describe("signing up", () => {
  test("is limited per network", async () => {
    for (const address of ["2001:db8:7::1", "2001:db8:7::2", "2001:db8:7:0:ffff::3"])
      expect((await signUp({ address })).status).toBe(200);
    const throttled = await signUp({ address: "2001:db8:7::4" });
    expect(throttled).toMatchObject({ status: 429, code: "TOO_MANY_REQUESTS" });
    expect(Number(throttled.retryAfter)).toBeGreaterThan(1_100);
    expect((await signUp({ address: "2001:db8:8::1" })).status).toBe(200);
  });

  test("counts an email address that has an account, but not a rejected password", async () => {
    const { email } = await app.addUser();
    for (let count = 0; count < 5; count += 1)
      expect((await signUp({}, { password: "password1234" })).status).toBe(400);
    for (let count = 0; count < 3; count += 1) expect((await signUp({}, { email })).status).toBe(409);
    expect((await signUp()).status).toBe(429);
  });

  test.each([
    [
      "common",
      "passwordpassword",
      "This password is too common. Choose another one, such as four or more unrelated words.",
    ],
    [
      "the user's email address",
      "grace@engines.example",
      "Don't use your name or email address as the password.",
    ],
    ["the user's name", "Ada Lovelace", "Don't use your name or email address as the password."],
  ])("rejects a password that is %s", async (_what, guessable, message) => {
    const { status, body } = await signUp({}, { email: "grace@engines.example", password: guessable });
    expect([status, body.error?.data.issues]).toEqual([
      400,
      [{ path: "password", code: "too_guessable", message }],
    ]);
  });

  test("exempts the browser from later throttling of its network", async () => {
    const email = `${crypto.randomUUID()}@example.com`;
    const { cookies } = await signUp({}, { email });
    const device = cookies.find((cookie) => cookie.startsWith("latchkey-device=")) ?? "";
    await exceedLimit(email, { address: "198.51.100.9" });
    expect((await signIn(email, password, { address: "198.51.100.9", cookie: device })).status).toBe(200);
  });
});

describe("the log", () => {
  test("identifies users by ID, and contains no password or unknown email address", async () => {
    const [ada, disabled] = [await app.addUser(), await app.addUser()];
    await app.services.db.transaction().execute((trx) => disableUser(trx, disabled.userId));
    nextLogLines();
    const unknown = `${crypto.randomUUID()}@example.com`;
    const address = "203.0.113.7";
    await signIn(ada.email, password, { requestId: "request-1" });
    await fail(ada.email, { requestId: "request-2" });
    await signIn(disabled.email, password, { requestId: "request-3" });
    await fail(unknown, { requestId: "request-4" });
    const { body } = await signUp({ requestId: "request-5" });
    const { result } = body as unknown as { result: { data: { user: { id: string } } } };
    const failed = { msg: "sign-in failed", level: 40, address };
    const adaId = encodeId("user", ada.userId);
    // Lines that count the throttled attempts of earlier tests may be logged at any time.
    const entries = nextLogLines().filter(({ msg }) => !/were throttled$/.test(String(msg)));
    expect(entries).toMatchObject([
      { msg: "signed in", level: 30, address, requestId: "request-1", userId: adaId },
      { ...failed, requestId: "request-2", reason: "wrong-password", userId: adaId },
      { ...failed, requestId: "request-3", reason: "disabled", userId: encodeId("user", disabled.userId) },
      { ...failed, requestId: "request-4", reason: "unknown-account" },
      { msg: "signed up", level: 30, address, requestId: "request-5", userId: result.data.user.id },
    ]);
    for (const secret of [unknown, ada.email, password, "a wrong password"])
      expect(app.readLog()).not.toContain(secret);
  });

  test("counts throttled attempts in few lines", async () => {
    const address = "203.0.113.7";
    const { email } = await app.addUser();
    await exceedLimit(email);
    nextLogLines();
    const startedAt = performance.now();
    for (let count = 0; count < 20; count += 1) await fail(email);
    await expect
      .poll(
        () =>
          app
            .readLog()
            .split("\n")
            .slice(readCount, -1)
            .filter((line) => line.includes("sign-ins were throttled") && line.includes(address)).length,
      )
      .toBeGreaterThan(0);
    const entries = nextLogLines().filter(
      (entry) => entry.msg === "sign-ins were throttled" && entry.address === address,
    );
    expect(entries[0]).toMatchObject({ count: expect.any(Number) });
    expect(entries[0]?.retryAfterSeconds).toEqual(expect.any(Number));
    // At most one line per second, however long the attempts take.
    expect(entries.length).toBeLessThan(4 + (performance.now() - startedAt) / 1_000);
  });
});
