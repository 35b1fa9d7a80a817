// Verified email addresses: the link after sign-up, and an emailed reset of an account that somebody else may have created.

import { openAsOperator } from "@latchkey/auth/workspace-access";
import { insertIdentity } from "@latchkey/db/identities";
import { decodeId, encodeId, type InvitationId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import { insertPasskey } from "@latchkey/db/passkeys";
import { replaceRecoveryCodes } from "@latchkey/db/second-factors";
import { rememberOrigins } from "@latchkey/db/sign-in-origins";
import { countWaiting } from "@latchkey/db/testing/count-waiting";
import { findUser, hasVerifiedEmail } from "@latchkey/db/users";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { consumeAccountChangeQuota } from "../src/domain/account-change-quota.ts";
import { changeAccountEmail } from "../src/domain/email-change.ts";
import { addInvitationNotice } from "../src/domain/invitation-jobs.ts";
import { createInvitation } from "../src/domain/invitations.ts";
import { createResetLink } from "../src/domain/password-reset.ts";
import { createMailTasks } from "../src/mail/mail-tasks.ts";
import type { Mail } from "../src/mail/mailer.ts";
import { holdLocks } from "./table-locks.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ sendsEmail: true, registration: "open" });
});
afterAll(() => app.close());

const newPassword = "four quiet foxes on ice";
const invalid = { data: { code: "NOT_FOUND" } };
const throttled = {
  data: { code: "TOO_MANY_REQUESTS", retryAfterSeconds: expect.any(Number) },
  message: expect.stringMatching(/^Too many email attempts\. Try again in \d+ (minutes|seconds)\.$/),
};

function createTasks(mails: Mail[]) {
  const { db } = app.services;
  const mailer = { send: async (mail: Mail) => void mails.push(mail) };
  return createMailTasks({ db, mailer, baseUrl: app.baseUrl });
}

/** Runs the job that emails a verification link. */
async function mailVerification(userId: UserId): Promise<Mail | undefined> {
  const mails: Mail[] = [];
  await createTasks(mails)["send-verification-link"]({ userId }, "1");
  return mails[0];
}

/** Runs the job that emails a password reset link. */
async function mailReset(email: string): Promise<Mail> {
  const mails: Mail[] = [];
  await createTasks(mails)["send-reset-link"]({ email, address: null, requestId: "req" }, "1");
  const [mail] = mails;
  if (!mail) throw new Error("There is no mail.");
  return mail;
}

const tokenIn = (mail: Mail | undefined) => /#([\w-]{43})/.exec(mail?.text.join("\n") ?? "")?.[1] ?? "";

async function signUp(email = `${crypto.randomUUID()}@example.com`) {
  const { client } = openClient(app.baseUrl);
  await client.session.signUp.mutate({ name: "Ada", email, password });
  return { client, email, userId: await findUserId(email) };
}

async function findUserId(email: string): Promise<UserId> {
  const users = app.owner.selectFrom("users").select("id").where("email", "=", email);
  return (await users.executeTakeFirstOrThrow()).id;
}

type Person = Awaited<ReturnType<typeof signUp>>;

const isVerified = async ({ userId }: Pick<Person, "userId">) =>
  await hasVerifiedEmail(app.services.db, userId);

async function listJobs(userId: UserId): Promise<number> {
  const { rows } = await sql`
    select from graphile_worker.jobs where key = ${`verification ${userId}`}`.execute(app.owner);
  return rows.length;
}

async function listActions({ userId }: Pick<Person, "userId">): Promise<readonly string[]> {
  const rows = await app.owner
    .selectFrom("security_events")
    .select("action")
    .where("user_id", "=", userId)
    .orderBy("id")
    .execute();
  return rows.map(({ action }) => action);
}

test("a sign-up emails a link, which verifies the email address once, in a session of the account", async () => {
  const person = await signUp();
  expect(await listJobs(person.userId)).toBe(1);
  expect(await person.client.account.emailStatus.query()).toEqual({ isVerified: false });
  const mail = await mailVerification(person.userId);
  expect(mail).toMatchObject({ to: person.email, subject: "Verify your email address" });
  const token = tokenIn(mail);
  const { client: visitor } = openClient(app.baseUrl);
  await expect(visitor.account.verifyEmail.mutate({ token })).rejects.toMatchObject({
    data: { code: "UNAUTHORIZED" },
  });
  const stranger = await signUp();
  await expect(stranger.client.account.verifyEmail.mutate({ token })).rejects.toMatchObject(invalid);
  expect(await isVerified(person)).toBe(false);

  const attempts = Array.from({ length: 10 }, () => person.client.account.verifyEmail.mutate({ token }));
  const settled = await Promise.allSettled(attempts);
  expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  expect(await person.client.account.emailStatus.query()).toEqual({ isVerified: true });
  expect(await isVerified(stranger)).toBe(false);
  expect((await listActions(person)).filter((action) => action === "account.email-verified")).toHaveLength(1);
  expect(await mailVerification(person.userId)).toBeUndefined();
});

test("only the digest of a token is stored, a newer link replaces it, and it expires", async () => {
  const person = await signUp();
  const first = tokenIn(await mailVerification(person.userId));
  const stored = await app.owner.selectFrom("verifications").select(["identifier", "value"]).execute();
  expect(JSON.stringify(stored)).not.toContain(first);
  const second = tokenIn(await mailVerification(person.userId));
  await expect(person.client.account.verifyEmail.mutate({ token: first })).rejects.toMatchObject(invalid);
  await app.owner
    .updateTable("verifications")
    .set({ expires_at: new Date(0) })
    .where("value", "=", `${person.userId} ${person.email}`)
    .execute();
  await expect(person.client.account.verifyEmail.mutate({ token: second })).rejects.toMatchObject(invalid);
  expect(await isVerified(person)).toBe(false);
});

test("a link for a former email address verifies nothing", async () => {
  const person = await signUp();
  const token = tokenIn(await mailVerification(person.userId));
  const email = `${crypto.randomUUID()}@example.com`;
  await changeAccountEmail(app.services.db, { id: person.userId }, email, commandOrigin);
  await expect(person.client.account.verifyEmail.mutate({ token })).rejects.toMatchObject(invalid);
  expect(await isVerified(person)).toBe(false);
  expect(await mailVerification(person.userId)).toMatchObject({ to: email });
});

test("the operator can change the email address of a disabled user", async () => {
  const { userId } = await signUp();
  await app.disableUser(userId);
  const email = `${crypto.randomUUID()}@example.com`;
  const { db } = app.services;
  await rememberOrigins(db, userId, [Buffer.alloc(32)]);
  expect(await changeAccountEmail(db, { id: userId }, email, commandOrigin)).toBe(userId);
  expect(await findUser(db, userId)).toMatchObject({ email, isDisabled: true });
  const origins = app.owner.selectFrom("sign_in_origins").select("digest").where("user_id", "=", userId);
  expect(await origins.execute()).toEqual([]);
});

test("the operator changes nothing by setting the email address that the user already has", async () => {
  const person = await signUp();
  const { userId, email } = person;
  await person.client.account.verifyEmail.mutate({ token: tokenIn(await mailVerification(userId)) });
  const { db } = app.services;
  const digest = Buffer.alloc(32, 1);
  await rememberOrigins(db, userId, [digest]);
  const actions = await listActions(person);
  expect(await changeAccountEmail(db, { email }, email, commandOrigin)).toBe(userId);
  expect(await isVerified(person)).toBe(true);
  expect(await listActions(person)).toEqual(actions);
  const origins = app.owner.selectFrom("sign_in_origins").select("digest").where("user_id", "=", userId);
  expect(await origins.execute()).toContainEqual({ digest });
  const { rows } = await sql`
    select from graphile_worker.jobs where key like ${`email-changed ${userId}%`}`.execute(app.owner);
  expect(rows).toEqual([]);
});

test("an email address gets five links on request, then no more for a while", async () => {
  const person = await signUp();
  await app.owner.deleteFrom("throttle_buckets").execute();
  const request = async () => {
    await sql`select graphile_worker.complete_jobs(array(select id from graphile_worker.jobs))`.execute(
      app.owner,
    );
    await person.client.account.requestEmailVerification.mutate();
    return await listJobs(person.userId);
  };
  for (let count = 0; count < 5; count += 1) expect(await request()).toBe(1);
  await expect(request()).rejects.toMatchObject(throttled);
  expect(await listJobs(person.userId)).toBe(0);
});

test("an email address gets five links that change another account's email address to it", async () => {
  const person = await signUp();
  const email = `${crypto.randomUUID()}@example.com`;
  await app.owner.deleteFrom("throttle_buckets").execute();
  const request = () => person.client.account.requestEmailChange.mutate({ email });
  for (let count = 0; count < 5; count += 1) await request();
  await expect(request()).rejects.toMatchObject(throttled);
  const requests = (await listActions(person)).filter(
    (action) => action === "account.email-change-requested",
  );
  expect(requests).toHaveLength(5);
});

test("sign-ups with one email address get five links together, and then succeed without one", async () => {
  const email = `${crypto.randomUUID()}@example.com`;
  await app.owner.deleteFrom("throttle_buckets").execute();
  for (let count = 0; count < 5; count += 1) {
    const person = await signUp(email);
    expect(await listJobs(person.userId)).toBe(1);
    await person.client.account.delete.mutate({ email });
  }
  const person = await signUp(email);
  expect(await listJobs(person.userId)).toBe(0);
  await expect(person.client.account.requestEmailVerification.mutate()).rejects.toMatchObject(throttled);
  // A sign-up with the email address of an account is rejected, and uses up no link.
  await app.owner.deleteFrom("throttle_buckets").execute();
  for (let count = 0; count < 5; count += 1)
    await expect(signUp(email)).rejects.toMatchObject({ data: { code: "CONFLICT" } });
  await person.client.account.requestEmailVerification.mutate();
  expect(await listJobs(person.userId)).toBe(1);
});

test("a sign-up with an invitation link counts as a verification link to its email address too", async () => {
  const inviter = await signUp();
  const { id } = await inviter.client.workspaces.create.mutate({ name: "Team" });
  const scope = openAsOperator(decodeId("workspace", id) as WorkspaceId); // The workspace was just created.
  const { baseUrl, services } = app;
  const email = `${crypto.randomUUID()}@example.com`;
  const signUpInvited = async () => {
    // Not emailed, so that accepting the invitation doesn't verify the email address.
    const options = { sendsEmail: false, baseUrl, quotas: services.quotas };
    const { url = "" } = await services.db
      .transaction()
      .execute((trx) =>
        createInvitation(trx, { scope, origin: commandOrigin }, { email, role: "member" }, options),
      );
    const { client } = openClient(baseUrl);
    await client.session.signUpInvited.mutate({ token: new URL(url).hash.slice(1), name: "Ada", password });
    const userId = await findUserId(email);
    const jobs = await listJobs(userId);
    await client.account.delete.mutate({ email });
    return jobs;
  };
  await app.owner.deleteFrom("throttle_buckets").execute();
  for (let count = 0; count < 4; count += 1)
    await services.signInThrottle.consumeLinkRequest("verify-email", email, null);
  expect(await signUpInvited()).toBe(1);
  expect(await signUpInvited()).toBe(0);
});

test("links that others request for an email address don't use up those that reset its owner's password", async () => {
  const [person, stranger] = [await signUp(), await signUp()];
  await app.owner.deleteFrom("throttle_buckets").execute();
  for (let count = 0; count < 5; count += 1) {
    await stranger.client.account.requestEmailChange.mutate({ email: person.email });
    // If somebody else had created the account.
    await person.client.account.requestEmailVerification.mutate();
  }
  await openClient(app.baseUrl).client.session.requestResetLink.mutate({ email: person.email });
  const { rows } = await sql`
    select from graphile_worker.jobs where key = ${`reset-link ${person.email}`}`.execute(app.owner);
  expect(rows).toHaveLength(1);
});

test("requests for another email address count as changes of the account, because each adds an event", async () => {
  const { client, userId } = await signUp();
  const email = "another.address@example.com";
  await app.owner.deleteFrom("throttle_buckets").execute();
  await client.account.requestEmailChange.mutate({ email });
  const consume = () =>
    app.services.db.transaction().execute((trx) => consumeAccountChangeQuota(trx, userId));
  for (let count = 0; count < 99; count += 1) await consume();
  // On a busy machine, the quota refills in the meantime.
  await sql`
    update throttle_buckets set full_at = full_at + interval '1 hour'
    where full_at > clock_timestamp() + interval '30 minutes'`.execute(app.owner);
  await expect(client.account.requestEmailChange.mutate({ email })).rejects.toMatchObject({
    data: { code: "TOO_MANY_REQUESTS" },
    message: expect.stringMatching(/limit of 100 account changes per hour/),
  });
});

/** An account that somebody created with another person's email address, with everything that gives access to it. */
async function hijack({ isVerified: isOwn = false } = {}) {
  const person = await signUp();
  if (isOwn) {
    const token = tokenIn(await mailVerification(person.userId));
    await person.client.account.verifyEmail.mutate({ token });
  }
  const { userId } = person;
  const { secret, id } = await app.addKey(userId);
  const { db } = app.services;
  await db.transaction().execute(async (trx) => {
    await insertIdentity(trx, userId, { issuer: "https://id.example.com", subject: userId, email: null });
    const credential = { credentialId: userId, publicKey: Buffer.alloc(1), signCount: 0, transports: [] };
    await insertPasskey(trx, userId, { ...credential, name: "Attacker’s" });
    await replaceRecoveryCodes(trx, userId, [Buffer.alloc(32)]);
  });
  return { ...person, secret, keyId: encodeId("key", id) };
}

/** The rows of an account after a new password that keeps what gives access to it, and after one that deletes this. */
const kept = {
  sessions: 0,
  identities: 1,
  passkeys: 1,
  recovery_codes: 1,
  sign_in_origins: 2,
  known_devices: 1,
};
const deleted = Object.fromEntries(Object.keys(kept).map((table) => [table, 0]));

async function countAccess({ userId }: Pick<Person, "userId">): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of Object.keys(kept) as (keyof typeof kept)[]) {
    counts[table] = (
      await app.owner.selectFrom(table).select("user_id").where("user_id", "=", userId).execute()
    ).length;
  }
  return counts;
}

const statusOf = async (secret: string) =>
  (await fetch(`${app.baseUrl}/open/me`, { headers: { Authorization: `Bearer ${secret}` } })).status;

test("an emailed reset of an unverified account deletes what gave access to it, and verifies the email address", async () => {
  const person = await hijack();
  expect(await statusOf(person.secret)).toBe(200);
  const mail = await mailReset(person.email);
  expect(mail.text.join("\n")).toContain(
    "also deletes its API keys, second factors and linked sign-in methods",
  );
  const token = tokenIn(mail);
  const { client: owner } = openClient(app.baseUrl);
  expect(await owner.session.resetAccount.mutate({ token })).toEqual({
    email: person.email,
    removesAccess: true,
  });
  const pending = tokenIn(await mailVerification(person.userId));
  await owner.session.resetPassword.mutate({ token, newPassword });
  expect(await isVerified(person)).toBe(true);
  expect(await countAccess(person)).toEqual(deleted);
  expect(await statusOf(person.secret)).toBe(403);
  expect(await listActions(person)).toEqual(
    expect.arrayContaining([
      "password.reset",
      "account.email-verified",
      "second-factors.reset",
      "identity.unlinked",
      "key.deleted",
    ]),
  );
  const unlinked = await app.owner
    .selectFrom("security_events")
    .select("before")
    .where("user_id", "=", person.userId)
    .where("action", "=", "identity.unlinked")
    .execute();
  expect(unlinked).toEqual([{ before: { provider: "id.example.com" } }]);
  await owner.session.signIn.mutate({ email: person.email, password: newPassword });
  const [workspace] = (await owner.session.current.query())?.workspaces ?? [];
  const { items } = await owner.audit.list.query({ workspaceId: workspace?.id ?? "" });
  expect(items).toContainEqual(
    expect.objectContaining({
      action: "key.deleted",
      target: expect.objectContaining({ id: person.keyId }),
    }),
  );
  await expect(owner.account.verifyEmail.mutate({ token: pending })).rejects.toMatchObject(invalid);
});

test("after an emailed reset of an unverified account, a device that was new before is new again", async () => {
  const { email } = await signUp();
  const mac = {
    "User-Agent": "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Chrome/140.0.0.0 Safari/537.36",
  };
  const signInFrom = async (headers: Readonly<Record<string, string>>, secret: string) => {
    const { client } = openClient(app.baseUrl, headers);
    await client.session.signIn.mutate({ email, password: secret });
    return client;
  };
  const listNotices = async (client: Person["client"]) =>
    (await client.notices.list.query({})).items.filter(({ kind }) => kind === "new-device");
  expect(await listNotices(await signInFrom(mac, password))).toHaveLength(1);
  const { client: visitor } = openClient(app.baseUrl);
  await visitor.session.resetPassword.mutate({ token: tokenIn(await mailReset(email)), newPassword });
  const owner = await signInFrom({}, newPassword);
  expect(await listNotices(owner)).toEqual([]);
  await signInFrom(mac, newPassword);
  expect(await listNotices(owner)).toHaveLength(1);
});

test("an emailed reset of a verified account keeps keys and second factors", async () => {
  const person = await hijack({ isVerified: true });
  const mail = await mailReset(person.email);
  expect(mail.text.join("\n")).not.toContain("deletes");
  const token = tokenIn(mail);
  const { client } = openClient(app.baseUrl);
  expect(await client.session.resetAccount.mutate({ token })).toEqual({
    email: person.email,
    removesAccess: false,
  });
  await client.session.resetPassword.mutate({ token, newPassword });
  expect(await countAccess(person)).toEqual(kept);
  expect(await statusOf(person.secret)).toBe(200);
});

test("a link that the operator created keeps keys, and verifies nothing", async () => {
  const person = await hijack();
  const { baseUrl } = app;
  const terms = { baseUrl, lifetimeSeconds: 60, origin: commandOrigin };
  await mailReset(person.email); // The operator's link replaces it.
  const { url } = await createResetLink(app.services.db, { id: person.userId }, terms);
  const { client } = openClient(baseUrl);
  await client.session.resetPassword.mutate({ token: new URL(url).hash.slice(1), newPassword });
  expect(await countAccess(person)).toEqual(kept);
  expect(await statusOf(person.secret)).toBe(200);
  expect(await isVerified(person)).toBe(false);
});

test("an emailed link replaces earlier emailed links, but not a link of the operator, which replaces both", async () => {
  const person = await hijack();
  const { client } = openClient(app.baseUrl);
  // With a client each, because one would batch these calls, which can't share a request.
  const isValid = (token: string) =>
    openClient(app.baseUrl)
      .client.session.resetAccount.mutate({ token })
      .then(
        () => true,
        () => false,
      );
  const createLink = async () => {
    const terms = { baseUrl: app.baseUrl, lifetimeSeconds: 60, origin: commandOrigin };
    const { url } = await createResetLink(app.services.db, { id: person.userId }, terms);
    return new URL(url).hash.slice(1);
  };
  const tokens = [await createLink()];
  for (let count = 1; count <= 2; count += 1) tokens.push(tokenIn(await mailReset(person.email)));
  expect(await Promise.all(tokens.map(isValid))).toEqual([true, false, true]);
  tokens.push(await createLink());
  expect(await Promise.all(tokens.map(isValid))).toEqual([false, false, false, true]);
  tokens.push(tokenIn(await mailReset(person.email)));
  await client.session.resetPassword.mutate({ token: tokens[3] ?? "", newPassword });
  expect(await Promise.all(tokens.map(isValid))).toEqual([false, false, false, false, false]);
});

test("a notice of an invitation is shown once the email address is verified", async () => {
  const [inviter, invited] = [await signUp(), await signUp()];
  const invite = async () => {
    const { id } = await inviter.client.workspaces.create.mutate({ name: "Team" });
    const invitation = { workspaceId: id, email: invited.email, role: "member" } as const;
    const sent = await inviter.client.invitations.create.mutate(invitation);
    await addInvitationNotice(app.services.db, {
      workspaceId: decodeId("workspace", id) as WorkspaceId, // The workspace was just created.
      invitationId: decodeId("invitation", sent.id) as InvitationId, // So was the invitation.
    });
    return (await invited.client.notices.list.query({})).items.filter(({ kind }) => kind === "invitation");
  };
  expect(await invite()).toEqual([]);
  await invited.client.account.verifyEmail.mutate({ token: tokenIn(await mailVerification(invited.userId)) });
  expect(await invite()).toHaveLength(1);
});

/** Runs the job that emails a link to the new email address of a user. */
async function mailEmailChange(userId: UserId, email: string): Promise<string> {
  const mails: Mail[] = [];
  await createTasks(mails)["send-email-change"]({ userId, email }, "1");
  return tokenIn(mails[0]);
}

test("a link to a new email address works once, only in a live session of the account", async () => {
  const [person, stranger] = [await signUp(), await signUp()];
  const email = `${crypto.randomUUID()}@example.com`;
  const token = await mailEmailChange(person.userId, email);
  const { client: visitor } = openClient(app.baseUrl);
  const { client: ended } = openClient(app.baseUrl);
  await ended.session.signIn.mutate({ email: person.email, password });
  await person.client.account.endOtherSessions.mutate();
  for (const [client, code] of [
    [visitor, "UNAUTHORIZED"],
    [ended, "UNAUTHORIZED"],
    [stranger.client, "NOT_FOUND"],
  ] as const) {
    const rejection = { data: { code } };
    await expect(client.session.emailChange.mutate({ token })).rejects.toMatchObject(rejection);
    await expect(client.session.confirmEmailChange.mutate({ token })).rejects.toMatchObject(rejection);
  }
  expect((await person.client.session.current.query())?.user.email).toBe(person.email);
  expect(await isVerified(person)).toBe(false);
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email: person.email, password });
  expect(await client.session.emailChange.mutate({ token })).toEqual({ email });
  expect(await client.session.confirmEmailChange.mutate({ token })).toEqual({ email });
  expect((await client.session.current.query())?.user.email).toBe(email);
  expect(await isVerified(person)).toBe(true);
  expect(await isVerified(stranger)).toBe(false);
  await expect(client.session.confirmEmailChange.mutate({ token })).rejects.toMatchObject(invalid);
});

test("a reset link isn't emailed to an email address that the account no longer has", async () => {
  const person = await signUp();
  const next = `${crypto.randomUUID()}@example.com`;
  const change = "with changed as (update users set email = $2 where id = $1) select";
  const commit = await holdLocks(app.database, change, [person.userId, next]);
  const mails: Mail[] = [];
  const request = { email: person.email, address: null, requestId: "req" };
  const sent = createTasks(mails)["send-reset-link"](request, "1");
  await expect.poll(() => countWaiting(app.owner)).toBe(1);
  await commit();
  await sent;
  expect(mails).toEqual([]);
  const links = await app.owner
    .selectFrom("verifications")
    .select("identifier")
    .where("value", "like", `${person.userId}%`)
    .where("identifier", "like", "%password-reset%")
    .execute();
  expect(links).toEqual([]);
});
