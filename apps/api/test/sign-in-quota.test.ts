// The quotas that limit how many events of sign-ins and password changes one user can add to the security log.
import { consumeSignInQuota } from "@latchkey/auth/sign-in-quota";
import type { UserId } from "@latchkey/db/ids";
import { AppError } from "@latchkey/errors";
import { sql } from "kysely";
import { TOTP } from "otpauth";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import {
  consumeAccountChangeQuota,
  consumeIdentityLinkQuota,
  consumePasswordChangeQuota,
} from "../src/domain/account-change-quota.ts";
import { reportRejectedSignIn } from "../src/domain/report-rejected-sign-in.ts";
import type { SignInEvent } from "../src/domain/sign-in-event.ts";
import { createSoftwarePasskey } from "./software-passkey.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
beforeEach(async () => {
  await app.owner.deleteFrom("throttle_buckets").execute();
});
afterAll(() => app.close());

const newPassword = "seven bridges over the river";

async function addSignedInUser() {
  const { userId, email } = await app.addUser();
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  return { userId, email, client };
}

/** Consumes the quota until it is used up, keeps it used up for another hour, and returns the number of uses. */
async function reach(consume: () => Promise<void>): Promise<number> {
  let isReached = false;
  let count = 0;
  for (; count < 200; count += 1) {
    await consume().catch((error: unknown) => {
      if (!(error instanceof AppError) || error.code !== "TOO_MANY_REQUESTS") throw error;
      isReached = true;
    });
    if (isReached) break;
  }
  await sql`
    update throttle_buckets set full_at = full_at + interval '1 hour'
    where full_at > clock_timestamp() + interval '59 minutes'`.execute(app.owner);
  return count;
}

/** The test has consumed one. On a busy machine, the quota refills in the meantime. */
function expectQuota(count: number): void {
  expect(count).toBeGreaterThanOrEqual(99);
  expect(count).toBeLessThan(150);
}

const reachSignIns = (userId: UserId) => reach(() => consumeSignInQuota(app.services.db, userId));

async function countRows(table: "security_events" | "sessions", userId: UserId): Promise<number> {
  return (await app.owner.selectFrom(table).select("id").where("user_id", "=", userId).execute()).length;
}

const signInRejection = {
  data: { code: "TOO_MANY_REQUESTS", retryAfterSeconds: expect.any(Number) },
  message: "You have reached the limit of 100 sign-ins per hour. Try again in a minute.",
};

test("a user can sign in 100 times per hour, with any credential, and a further sign-in opens no session", async () => {
  const { userId, email, client } = await addSignedInUser();
  const passkey = createSoftwarePasskey(app.baseUrl.replace("127.0.0.1", "localhost"));
  const response = passkey.register(await client.factors.startPasskey.mutate());
  await client.factors.addPasskey.mutate({ name: "Laptop", response });
  expectQuota(await reachSignIns(userId));
  const rows = [await countRows("security_events", userId), await countRows("sessions", userId)];
  const visitor = openClient(app.baseUrl).client;
  const options = await visitor.session.startPasskey.mutate({ isSecondFactor: false });
  await expect(
    visitor.session.signInWithPasskey.mutate({ response: passkey.authenticate(options) }),
  ).rejects.toMatchObject(signInRejection);
  const [{ id = "" } = {}] = (await client.factors.get.query()).passkeys;
  await client.factors.removePasskey.mutate({ id });
  await expect(visitor.session.signIn.mutate({ email, password })).rejects.toMatchObject(signInRejection);
  expect([await countRows("security_events", userId), await countRows("sessions", userId)]).toEqual([
    (rows[0] ?? 0) + 1, // The removed passkey.
    rows[1],
  ]);
  // Others can sign in, and the open session is unaffected.
  await addSignedInUser();
  expect((await client.session.current.query())?.user.email).toBe(email);
});

test("a password without the second factor doesn't count toward the quota of sign-ins", async () => {
  const { userId, email, client } = await addSignedInUser();
  const { secret } = await client.factors.createTotp.mutate();
  const { recoveryCodes } = await client.factors.enableTotp.mutate({ code: new TOTP({ secret }).generate() });
  await reachSignIns(userId);
  const visitor = openClient(app.baseUrl).client;
  expect(await visitor.session.signIn.mutate({ email, password })).toHaveProperty("secondFactor");
  await expect(visitor.session.enterCode.mutate({ code: recoveryCodes?.[0] ?? "" })).rejects.toMatchObject(
    signInRejection,
  );
});

test("a sign-in beyond the quota uses up no code, and counts as a failed attempt", async () => {
  const { userId, email, client } = await addSignedInUser();
  const { secret } = await client.factors.createTotp.mutate();
  const { recoveryCodes } = await client.factors.enableTotp.mutate({ code: new TOTP({ secret }).generate() });
  const visitor = openClient(app.baseUrl).client;
  await visitor.session.signIn.mutate({ email, password });
  await reachSignIns(userId);
  const code = recoveryCodes?.[0] ?? "";
  await expect(visitor.session.enterCode.mutate({ code })).rejects.toMatchObject(signInRejection);
  await sql`delete from throttle_buckets`.execute(app.owner);
  // Both the code and the sign-in that waits for it still exist.
  await visitor.session.enterCode.mutate({ code });

  const { userId: other, email: otherEmail } = await app.addUser();
  await reachSignIns(other);
  const rejections: string[] = [];
  // On a busy machine, the throttle refills in the meantime.
  for (let attempt = 0; attempt < 30 && !rejections.at(-1)?.startsWith("Too many"); attempt += 1)
    await openClient(app.baseUrl)
      .client.session.signIn.mutate({ email: otherEmail, password })
      .catch((error: Error) => rejections.push(error.message));
  expect(new Set(rejections.slice(0, -1))).toEqual(new Set([signInRejection.message]));
  expect(rejections.length).toBeGreaterThan(10);
  expect(rejections.at(-1)).toMatch(/^Too many sign-in attempts/);
});

test("links to identities have a quota of their own", async () => {
  const { userId } = await app.addUser();
  const reachChanges = (consume: typeof consumeAccountChangeQuota) =>
    reach(() => app.services.db.transaction().execute((trx) => consume(trx, userId)));
  await reachChanges(consumeAccountChangeQuota);
  const count = await reachChanges(consumeIdentityLinkQuota);
  expect(count).toBeGreaterThanOrEqual(100);
});

test("rejected sign-ins of a user with a passkey are logged 100 times per hour, and others are only counted", async () => {
  const { userId } = await app.addUser();
  const visitor = {
    address: "203.0.113.7",
    requestId: "request",
    deviceId: undefined,
    headers: new Headers(),
  };
  const kinds: string[] = [];
  const services = { db: app.services.db, report: ({ kind }: SignInEvent) => void kinds.push(kind) };
  const reject = () => reportRejectedSignIn(services, { reason: "passkey", userId }, visitor);
  while (!kinds.includes("sign-in-rejected") && kinds.length < 200) await reject();
  // On a busy machine, the quota refills in the meantime.
  expect(kinds.length).toBeGreaterThan(100);
  expect(kinds.length).toBeLessThan(150);
  expect(await countRows("security_events", userId)).toBe(kinds.length - 1);
  const unknown = { reason: "openid", userId: undefined } as const;
  await reportRejectedSignIn(services, unknown, visitor);
  expect(kinds.slice(-2)).toEqual(["sign-in-rejected", "sign-in-rejected"]);
});

test("a user can change their password 100 times per hour, however many other changes they make", async () => {
  const { userId, client } = await addSignedInUser();
  const reachChanges = (consume: typeof consumeAccountChangeQuota) =>
    reach(() => app.services.db.transaction().execute((trx) => consume(trx, userId)));
  await reachChanges(consumeAccountChangeQuota);
  await client.account.changePassword.mutate({ currentPassword: password, newPassword });
  expectQuota(await reachChanges(consumePasswordChangeQuota));
  const events = await countRows("security_events", userId);
  await expect(
    client.account.changePassword.mutate({ currentPassword: newPassword, newPassword: password }),
  ).rejects.toMatchObject({
    data: { code: "TOO_MANY_REQUESTS", retryAfterSeconds: expect.any(Number) },
    message: expect.stringMatching(
      /^You have reached the limit of 100 password changes per hour\. Try again in 6\d minutes\.$/,
    ),
  });
  expect(await countRows("security_events", userId)).toBe(events);
});
