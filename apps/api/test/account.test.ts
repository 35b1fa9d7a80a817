// The user's own account in the web app: name, password and sessions.
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { decodeId, encodeId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import { countWaiting } from "@latchkey/db/testing/count-waiting";
import { findPasswordHash } from "@latchkey/db/users";
import { sql } from "kysely";
import { TOTP } from "otpauth";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { addMember } from "../src/domain/members.ts";
import { createResetLink } from "../src/domain/password-reset.ts";
import { defaultQuotas } from "../src/domain/quotas.ts";
import { createSoftwarePasskey } from "./software-passkey.ts";
import { holdLocks } from "./table-locks.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const chromeOnMac =
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36";
const newPassword = "seven bridges over the river";

async function signIn(email: string, userAgent?: string) {
  const opened = openClient(app.baseUrl, userAgent === undefined ? {} : { "User-Agent": userAgent });
  await opened.client.session.signIn.mutate({ email, password });
  return opened.client;
}

async function readEvents(client: Awaited<ReturnType<typeof signIn>>) {
  return (await client.securityLog.list.query({})).items;
}

test("lists the user's sessions with device, IP address and last use, and ends each of them", async () => {
  const { email } = await app.addUser();
  const other = await app.addUser();
  const current = await signIn(email);
  const laptop = await signIn(email, chromeOnMac);
  const stranger = await signIn(other.email);
  const sessions = await current.account.sessions.query();
  expect(sessions).toEqual([
    expect.objectContaining({ isCurrent: true, address: "127.0.0.1" }),
    expect.objectContaining({
      isCurrent: false,
      address: "127.0.0.1",
      device: { browser: "Chrome 141", system: "macOS" },
    }),
  ]);
  for (const { createdAt, lastUsedAt } of sessions) {
    expect(Date.parse(lastUsedAt)).toBeGreaterThanOrEqual(Date.parse(createdAt) - 1_000);
  }
  const id = sessions[1]?.id ?? "";
  await expect(stranger.account.endSession.mutate({ id })).rejects.toMatchObject({
    data: { code: "NOT_FOUND" },
  });
  expect((await laptop.session.current.query())?.user.email).toBe(email);
  await current.account.endSession.mutate({ id });
  expect(await laptop.session.current.query()).toBeNull();
  await expect(current.account.endSession.mutate({ id })).rejects.toMatchObject({
    data: { code: "NOT_FOUND" },
  });
  expect(await current.account.sessions.query()).toHaveLength(1);
  expect((await readEvents(current)).map(({ action }) => action)).toEqual([
    "session.ended",
    "sign-in.succeeded",
    "sign-in.succeeded",
  ]);
  expect((await stranger.session.current.query())?.user.email).toBe(other.email);
});

test("records the last use of a session every five minutes, by the database's clock, with its IP address", async () => {
  const { email, userId } = await app.addUser();
  const client = await signIn(email);
  const age = (seconds: number) =>
    sql`
      update sessions set last_used_at = clock_timestamp() - make_interval(secs => ${seconds}), ip_address = '192.0.2.1'
      where user_id = ${userId}`.execute(app.owner);
  const readLastUse = async () => {
    const { rows } = await sql<{ seconds: number; address: string }>`
      select extract(epoch from clock_timestamp() - last_used_at)::float8 as seconds, ip_address as address
      from sessions where user_id = ${userId}`.execute(app.owner);
    return rows[0];
  };
  await age(290);
  await client.session.current.query();
  expect(await readLastUse()).toMatchObject({ address: "192.0.2.1" });
  expect((await readLastUse())?.seconds).toBeGreaterThan(289);
  await age(301);
  await client.session.current.query();
  expect(await readLastUse()).toMatchObject({ address: "127.0.0.1" });
  expect((await readLastUse())?.seconds).toBeLessThan(60);
});

test("ends all other sessions together", async () => {
  const { email } = await app.addUser();
  const [current, ...others] = [await signIn(email), await signIn(email), await signIn(email)];
  expect(await current?.account.endOtherSessions.mutate()).toEqual({ count: 2 });
  for (const other of others) expect(await other.session.current.query()).toBeNull();
  expect(await current?.account.endOtherSessions.mutate()).toEqual({ count: 0 });
});

test("signs out everywhere, and records one event", async () => {
  const { email, userId } = await app.addUser();
  const [current, other] = [await signIn(email), await signIn(email)];
  const otherUser = await signIn((await app.addUser()).email);
  expect(await current.account.signOutEverywhere.mutate()).toBeNull();
  for (const client of [current, other]) expect(await client.session.current.query()).toBeNull();
  expect(await otherUser.session.current.query()).not.toBeNull();
  await expect(current.account.signOutEverywhere.mutate()).rejects.toMatchObject({
    data: { code: "UNAUTHORIZED" },
  });
  const events = await app.owner
    .selectFrom("security_events")
    .select(["action", "after"])
    .where("user_id", "=", userId)
    .where("action", "<>", "sign-in.succeeded")
    .execute();
  expect(events).toEqual([{ action: "session.signed-out", after: { count: 2 } }]);
});

test("changes the password, ends the other sessions, and records it", async () => {
  const { email } = await app.addUser();
  const [current, other] = [await signIn(email), await signIn(email)];
  const change = (passwords: { currentPassword: string; newPassword: string }) =>
    current.account.changePassword.mutate(passwords);
  await expect(change({ currentPassword: "not my password", newPassword })).rejects.toMatchObject({
    data: {
      code: "BAD_REQUEST",
      issues: [{ path: "currentPassword", message: "This is not your current password." }],
    },
  });
  await expect(change({ currentPassword: password, newPassword: "password1234" })).rejects.toMatchObject({
    data: { issues: [{ path: "newPassword", code: "too_guessable" }] },
  });
  expect((await other.session.current.query())?.user.email).toBe(email);
  await change({ currentPassword: password, newPassword });
  expect((await current.session.current.query())?.user.email).toBe(email);
  expect(await other.session.current.query()).toBeNull();
  await expect(signIn(email)).rejects.toMatchObject({ data: { code: "UNAUTHORIZED" } });
  await openClient(app.baseUrl).client.session.signIn.mutate({ email, password: newPassword });
  expect((await readEvents(current)).map(({ action }) => action)).toEqual([
    "sign-in.succeeded",
    "sign-in.failed",
    "password.changed",
    "sign-in.succeeded",
    "sign-in.succeeded",
  ]);
});

test("a password has 12 to 128 Unicode code points", async () => {
  const { email } = await app.addUser();
  const client = await signIn(email);
  // Most of these characters have two UTF-16 code units.
  const textOf = (length: number) =>
    Array.from({ length }, (_, index) => String.fromCodePoint(0x1f400 + 7 * index)).join("");
  const change = (passwords: { currentPassword: string; newPassword: string }) =>
    client.account.changePassword.mutate(passwords);
  for (const [length, code] of [
    [11, "too_short"],
    [129, "too_long"],
  ] as const) {
    await expect(change({ currentPassword: password, newPassword: textOf(length) })).rejects.toMatchObject({
      data: { issues: [{ path: "newPassword", code }] },
    });
  }
  await change({ currentPassword: password, newPassword: textOf(128) });
  const other = openClient(app.baseUrl);
  await other.client.session.signIn.mutate({ email, password: textOf(128) });
  await change({ currentPassword: textOf(128), newPassword: textOf(12) });
});

test("of concurrent changes to the password, one succeeds", async () => {
  const { email } = await app.addUser();
  const clients = [await signIn(email), await signIn(email), await signIn(email)];
  const outcomes = await Promise.allSettled(
    clients.map((client, index) =>
      client.account.changePassword.mutate({
        currentPassword: password,
        newPassword: `${newPassword} ${index}`,
      }),
    ),
  );
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  const index = outcomes.findIndex(({ status }) => status === "fulfilled");
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password: `${newPassword} ${index}` });
});

test("of concurrent changes to the password in one session, the other one asks for the new password", async () => {
  const { userId, email } = await app.addUser();
  const opened = openClient(app.baseUrl);
  await opened.client.session.signIn.mutate({ email, password });
  const copy = openClient(app.baseUrl);
  for (const [name, value] of opened.jar) copy.jar.set(name, value);
  const lock = "select from users where id = $1 for no key update";
  const unlock = await holdLocks(app.database, lock, [userId]);
  const changes = Promise.allSettled(
    [opened, copy].map(({ client }, index) =>
      client.account.changePassword.mutate({
        currentPassword: password,
        newPassword: `${newPassword} ${index}`,
      }),
    ),
  );
  await expect.poll(() => countWaiting(app.owner)).toBe(2);
  await unlock();
  const outcomes = await changes;
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  expect(outcomes.find(({ status }) => status === "rejected")).toMatchObject({
    reason: {
      data: { code: "CONFLICT" },
      message: "Your password has just been changed. Enter the new one as the current password.",
    },
  });
});

test("throttles wrong current passwords like sign-ins", async () => {
  const { email } = await app.addUser();
  const client = await signIn(email);
  const codes: unknown[] = [];
  for (let attempt = 1; attempt <= 30 && !codes.includes("TOO_MANY_REQUESTS"); attempt += 1) {
    const error: unknown = await client.account.changePassword
      .mutate({ currentPassword: "not my password", newPassword })
      .catch((reason: unknown) => reason);
    codes.push((error as { data: { code: string } }).data.code);
  }
  expect(codes.at(-1)).toBe("TOO_MANY_REQUESTS");
  expect(codes.length).toBeGreaterThan(3);
});

test("doesn't count a current password that was not checked", async () => {
  const { email, userId } = await app.addUser();
  const client = await signIn(email);
  const fail = async (code: string) => {
    for (let count = 0; count < 11; count += 1)
      await expect(client.account.confirmPassword.mutate({ password })).rejects.toMatchObject({
        data: { code },
      });
  };
  await app.owner.schema.alterTable("accounts").renameTo("elsewhere").execute();
  await fail("INTERNAL_SERVER_ERROR");
  await app.owner.schema.alterTable("elsewhere").renameTo("accounts").execute();
  const accounts = app.owner.updateTable("accounts").where("user_id", "=", userId);
  const hash = await findPasswordHash(app.owner, userId);
  await accounts.set({ password: null }).execute();
  await fail("CONFLICT");
  await accounts.set({ password: hash }).execute();
  expect(await client.account.confirmPassword.mutate({ password })).toBeNull();
});

test("changes the name and records it", async () => {
  const { email } = await app.addUser();
  const client = await signIn(email);
  const former = (await client.session.current.query())?.user.name;
  expect(await client.account.rename.mutate({ name: "  Ada King " })).toEqual({ name: "Ada King" });
  expect((await client.session.current.query())?.user.name).toBe("Ada King");
  await client.account.rename.mutate({ name: "Ada King" });
  expect((await readEvents(client)).slice(0, 2)).toMatchObject([
    { action: "account.renamed", before: { name: former }, after: { name: "Ada King" } },
    { action: "sign-in.succeeded" },
  ]);
});

test("a sign-out is in the log once, also of concurrent ones", async () => {
  const { email } = await app.addUser();
  const opened = openClient(app.baseUrl);
  await opened.client.session.signIn.mutate({ email, password });
  const headers = { "Content-Type": "application/json", Cookie: opened.cookie(), "User-Agent": chromeOnMac };
  const signOut = () => fetch(`${app.baseUrl}/trpc/session.signOut`, { method: "POST", headers });
  const responses = await Promise.all([signOut(), signOut(), signOut()]);
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(await opened.client.session.current.query()).toBeNull();
  expect((await readEvents(await signIn(email))).slice(1)).toMatchObject([
    { action: "session.signed-out", device: { browser: "Chrome 141", system: "macOS" } },
    { action: "sign-in.succeeded" },
  ]);
});

test("each event has the device of its request, in the web app, the open API and behind a link", async () => {
  const { email, userId } = await app.addUser();
  const client = await signIn(email, chromeOnMac);
  await client.account.rename.mutate({ name: "Ada King" });
  const { id } = await client.apiKeys.create.mutate({ name: "CI" });
  await client.apiKeys.update.mutate({ id, name: "CI deploys" });
  await client.account.endOtherSessions.mutate();
  const key = await app.addKey(userId); // By the command, without a device.
  const renamed = await fetch(`${app.baseUrl}/open/api-keys/${encodeId("key", key.id)}`, {
    method: "PATCH",
    headers: {
      Authorization: `Bearer ${key.secret}`,
      "Content-Type": "application/json",
      "User-Agent": chromeOnMac,
    },
    body: JSON.stringify({ name: "By a key" }),
  });
  expect(renamed.status).toBe(200);
  const options = { baseUrl: app.baseUrl, lifetimeSeconds: 3_600, origin: commandOrigin };
  const { url } = await createResetLink(app.services.db, { email }, options);
  const [, token = ""] = url.split("#");
  const visitor = openClient(app.baseUrl, { "User-Agent": chromeOnMac }).client;
  await visitor.session.resetPassword.mutate({ token, newPassword });
  await visitor.session.signIn.mutate({ email, password: newPassword });
  const devices = (await readEvents(visitor)).map(({ action, device }) => [action, device?.browser ?? null]);
  expect(devices).toEqual([
    ["sign-in.succeeded", "Chrome 141"],
    ["password.reset", "Chrome 141"],
    ["password.reset-link-created", null],
    ["key.renamed", "Chrome 141"],
    ["key.created", null],
    ["key.renamed", "Chrome 141"],
    ["key.created", "Chrome 141"],
    ["account.renamed", "Chrome 141"],
    ["sign-in.succeeded", "Chrome 141"],
  ]);
});

test("failed sign-ins are in the log of the account, with the device, and nowhere for an unknown email address", async () => {
  const { email } = await app.addUser();
  const { client: visitor } = openClient(app.baseUrl, { "User-Agent": chromeOnMac });
  for (const tried of [email, `unknown-${email}`])
    await expect(
      visitor.session.signIn.mutate({ email: tried, password: "not my password" }),
    ).rejects.toMatchObject({ data: { code: "UNAUTHORIZED" } });
  const client = await signIn(email);
  const [, failed, ...others] = await readEvents(client);
  expect(others).toEqual([]);
  expect(failed).toMatchObject({
    action: "sign-in.failed",
    actor: { kind: "unknown", keyId: null },
    key: null,
    address: "127.0.0.1",
    device: { browser: "Chrome 141", system: "macOS" },
  });
});

test.each([
  ["ends", "delete from sessions where id = $1"],
  ["expires", "update sessions set expires_at = now() where id = $1"],
])("a session that %s while its request waits can't change the account", async (_how, end) => {
  const { email, userId } = await app.addUser();
  const client = await signIn(email);
  const sessionId = decodeId("session", (await client.account.sessions.query())[0]?.id ?? "");
  const statement = `with ended as (${end}) select from users where id = $2 for update`;
  const commit = await holdLocks(app.database, statement, [sessionId, userId]);
  const renaming = client.account.rename.mutate({ name: "Mallory" });
  const rejected = expect(renaming).rejects.toMatchObject({ data: { code: "UNAUTHORIZED" } });
  await expect.poll(() => countWaiting(app.owner)).toBe(1);
  await commit();
  await rejected;
});

describe("a password reset link", () => {
  const createLink = async (email: string, lifetimeSeconds = 3_600) => {
    const options = { baseUrl: app.baseUrl, lifetimeSeconds, origin: commandOrigin };
    const { url } = await createResetLink(app.services.db, { email }, options);
    const [page, token = ""] = url.split("#");
    expect(page).toBe(`${app.baseUrl}/reset-password`);
    return token;
  };
  const expired = {
    message: "This link has expired or was already used. Ask for a new one.",
    data: { code: "NOT_FOUND" },
  };

  test("changes the password once, and ends all sessions; of 50 concurrent requests, one succeeds", async () => {
    const { email } = await app.addUser();
    const client = await signIn(email);
    const visitor = openClient(app.baseUrl).client;
    const token = await createLink(email);
    expect(await visitor.session.resetAccount.mutate({ token })).toEqual({ email, removesAccess: false });
    await expect(
      visitor.session.resetPassword.mutate({ token, newPassword: "password1234" }),
    ).rejects.toMatchObject({ data: { issues: [{ path: "newPassword", code: "too_guessable" }] } });
    const outcomes: PromiseSettledResult<null>[] = [];
    // The queue for passwords accepts ten from one network at a time. One client would send one batch.
    for (let batch = 0; batch < 5; batch += 1) {
      const clients = Array.from({ length: 10 }, () => openClient(app.baseUrl).client);
      const resets = clients.map((each) => each.session.resetPassword.mutate({ token, newPassword }));
      outcomes.push(...(await Promise.allSettled(resets)));
    }
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await client.session.current.query()).toBeNull();
    await expect(signIn(email)).rejects.toMatchObject({ data: { code: "UNAUTHORIZED" } });
    await visitor.session.signIn.mutate({ email, password: newPassword });
    await expect(visitor.session.resetAccount.mutate({ token })).rejects.toMatchObject(expired);
    expect((await readEvents(visitor)).map(({ action, actor }) => `${action} ${actor.kind}`)).toEqual([
      "sign-in.succeeded session",
      "sign-in.failed unknown",
      "password.reset session",
      "password.reset-link-created command",
      "sign-in.succeeded session",
    ]);
  });

  test("is invalid when it has expired, when there is a newer one, and when the password was changed", async () => {
    const { email, userId } = await app.addUser();
    const visitor = openClient(app.baseUrl).client;
    const reset = (token: string) => visitor.session.resetPassword.mutate({ token, newPassword });
    const first = await createLink(email);
    const second = await createLink(email);
    await expect(reset(first)).rejects.toMatchObject(expired);
    await sql`update verifications set expires_at = clock_timestamp() where value = ${userId}`.execute(
      app.owner,
    );
    await expect(reset(second)).rejects.toMatchObject(expired);
    const third = await createLink(email);
    const client = await signIn(email);
    await client.account.changePassword.mutate({ currentPassword: password, newPassword });
    await expect(reset(third)).rejects.toMatchObject(expired);
    await expect(reset("nothing")).rejects.toMatchObject(expired);
  });

  test("is stored as a digest, and leaves a disabled user disabled", async () => {
    const { userId, email } = await app.addUser();
    const token = await createLink(email);
    const { rows } = await sql<{ row: string }>`select verifications::text as row from verifications`.execute(
      app.owner,
    );
    expect(rows.length).toBeGreaterThan(0);
    expect(JSON.stringify(rows)).not.toContain(token);
    await app.disableUser(userId);
    const visitor = openClient(app.baseUrl).client;
    await visitor.session.resetPassword.mutate({ token, newPassword });
    await expect(visitor.session.signIn.mutate({ email, password: newPassword })).rejects.toMatchObject({
      data: { code: "UNAUTHORIZED" },
    });
  });
});

describe("15 minutes after the sign-in", () => {
  const required = {
    data: { code: "FORBIDDEN", issues: [{ path: "", code: "reauthentication_required" }] },
  };

  async function signInEarlier(seconds: number) {
    const { email, userId } = await app.addUser();
    const client = await signIn(email);
    const { id } = await client.apiKeys.create.mutate({ name: "CI", settings: { isReadOnly: true } });
    await setAge(userId, seconds);
    return { client, userId, email, id };
  }

  const setAge = (userId: UserId, seconds: number) =>
    sql`
      update sessions set authenticated_at = clock_timestamp() - make_interval(secs => ${seconds})
      where user_id = ${userId}`.execute(app.owner);

  test("a password is required for new secrets and more access, but not to reduce access", async () => {
    const { client, userId, id } = await signInEarlier(901);
    const update = (settings: object) => client.apiKeys.update.mutate({ id, settings, mayExpand: true });
    const workspace = (await client.session.current.query())?.workspaces[0];
    const sensitive = [
      () => client.apiKeys.create.mutate({ name: "More" }),
      () => client.apiKeys.rotate.mutate({ id, overlapSeconds: 0 }),
      () => update({ isReadOnly: false }),
      () => client.workspaces.delete.mutate({ workspaceId: workspace?.id ?? "" }),
    ];
    for (const change of sensitive) await expect(change()).rejects.toMatchObject(required);
    await update({ ipRanges: ["127.0.0.0/8"] });
    await update({ isDisabled: true });
    await expect(update({ isDisabled: false })).rejects.toMatchObject(required);
    expect((await client.apiKeys.list.query({})).total).toBe(1);

    await expect(client.account.confirmPassword.mutate({ password: "wrong" })).rejects.toMatchObject({
      data: { code: "BAD_REQUEST", issues: [{ path: "password" }] },
    });
    await expect(sensitive[0]?.()).rejects.toMatchObject(required);
    await client.account.confirmPassword.mutate({ password });
    for (const change of sensitive) await change();
    await setAge(userId, 890);
    await client.apiKeys.create.mutate({ name: "Just in time" });
    await setAge(userId, 901);
    await client.apiKeys.delete.mutate({ id });
  });

  test("a password is required to raise a role, but not to lower or remove it", async () => {
    const { client } = await signInEarlier(901);
    const { userId } = await app.addUser();
    const workspaceId = (await client.session.current.query())?.workspaces[0]?.id ?? "";
    const edit = {
      scope: openAsOperator(decodeId("workspace", workspaceId) as WorkspaceId), // It was encoded.
      origin: commandOrigin,
    };
    const member = await app.services.db
      .transaction()
      .execute((trx) => addMember(trx, edit, { userId, role: "member" }, defaultQuotas));
    const change = (role: "admin" | "viewer", version: number) =>
      client.members.changeRole.mutate({ workspaceId, userId: encodeId("user", userId), role, version });
    await expect(change("admin", member.version)).rejects.toMatchObject(required);
    const lowered = await change("viewer", member.version);
    await client.account.confirmPassword.mutate({ password });
    await change("admin", lowered.version);
  });

  test("a password is required for a webhook that sends the audit log elsewhere, but not to stop it", async () => {
    const { client, userId } = await signInEarlier(0);
    const workspaceId = (await client.session.current.query())?.workspaces[0]?.id ?? "";
    const url = "https://example.com/hook";
    const create = () => client.webhooks.create.mutate({ workspaceId, url, actions: null });
    const { id } = await create();
    const update = async (changes: object) => {
      const { version } = await client.webhooks.get.query({ workspaceId, id });
      return await client.webhooks.update.mutate({ workspaceId, id, version, changes });
    };
    await setAge(userId, 901);
    const sensitive = [
      create,
      () => update({ url: "https://example.com/elsewhere" }),
      () => update({ actions: ["member.added"] }),
      () => client.webhooks.rotateSecret.mutate({ workspaceId, id, overlapSeconds: 0 }),
    ];
    for (const change of sensitive) await expect(change()).rejects.toMatchObject(required);
    await update({ description: "Ours", isDisabled: true });
    await expect(update({ isDisabled: false })).rejects.toMatchObject(required);
    expect(await client.webhooks.get.query({ workspaceId, id })).toMatchObject({ url, actions: null });
    expect((await client.webhooks.list.query({ workspaceId })).total).toBe(1);
    await client.account.confirmPassword.mutate({ password });
    for (const change of [...sensitive, () => update({ isDisabled: false })]) await change();
    await setAge(userId, 901);
    await client.webhooks.delete.mutate({ workspaceId, id });
  });

  test("a user without a password sets one only after a recent sign-in", async () => {
    const { client, userId } = await signInEarlier(901);
    await app.owner.deleteFrom("accounts").where("user_id", "=", userId).execute();
    const setPassword = () => client.account.setPassword.mutate({ newPassword });
    await expect(setPassword()).rejects.toMatchObject(required);
    expect(await client.account.signInMethods.query()).toMatchObject({ hasPassword: false });
    await setAge(userId, 0);
    await setPassword();
    expect(await client.account.signInMethods.query()).toMatchObject({ hasPassword: true });
  });

  test("a password is required to ask for another email address", async () => {
    const mailing = await startTestApp({ sendsEmail: true });
    onTestFinished(() => mailing.close());
    const { email, userId } = await mailing.addUser();
    const { client } = openClient(mailing.baseUrl);
    await client.session.signIn.mutate({ email, password });
    await sql`
      update sessions set authenticated_at = clock_timestamp() - interval '901 s'
      where user_id = ${userId}`.execute(mailing.owner);
    const countRequests = async () =>
      (await client.securityLog.list.query({})).items.filter(
        ({ action }) => action === "account.email-change-requested",
      ).length;
    const request = () => client.account.requestEmailChange.mutate({ email: "new.address@example.com" });
    await expect(request()).rejects.toMatchObject(required);
    expect(await countRequests()).toBe(0);
    await client.account.confirmPassword.mutate({ password });
    await request();
    expect(await countRequests()).toBe(1);
  });

  test("another session of the user stays without a password", async () => {
    const { client, userId, email } = await signInEarlier(0);
    const other = await signIn(email);
    await setAge(userId, 901);
    await client.account.confirmPassword.mutate({ password });
    await client.apiKeys.create.mutate({ name: "Here" });
    await expect(other.apiKeys.create.mutate({ name: "There" })).rejects.toMatchObject(required);
  });
});

test("a user can make 100 changes to their account per hour, and still remove what they added", async () => {
  const { userId, email } = await app.addUser();
  const client = await signIn(email);
  const passkey = createSoftwarePasskey(app.baseUrl.replace("127.0.0.1", "localhost"));
  const addPasskey = async (added = passkey) => {
    const response = added.register(await client.factors.startPasskey.mutate());
    await client.factors.addPasskey.mutate({ name: "Laptop", response });
  };
  const enableTotp = async () => {
    const { secret } = await client.factors.createTotp.mutate();
    await client.factors.enableTotp.mutate({ code: new TOTP({ secret }).generate() });
  };
  await addPasskey();
  const [{ id = "" } = {}] = (await client.factors.get.query()).passkeys;
  // The quota is 100 per hour, and stays reached for another hour.
  await sql`update throttle_buckets set full_at = clock_timestamp() + interval '2 hours'`.execute(app.owner);
  onTestFinished(async () => {
    await sql`truncate throttle_buckets`.execute(app.owner);
  });
  const events = await countEvents(userId);
  const changes = [
    () => client.account.rename.mutate({ name: "Grace" }),
    () => client.factors.renamePasskey.mutate({ id, name: "Phone" }),
    () => client.factors.createRecoveryCodes.mutate(),
    () => client.notices.changeSetting.mutate({ kind: "new-device", byEmail: false }),
    () => addPasskey(createSoftwarePasskey(app.baseUrl.replace("127.0.0.1", "localhost"))),
    enableTotp,
  ];
  for (const change of changes)
    await expect(change()).rejects.toMatchObject({
      data: { code: "TOO_MANY_REQUESTS", retryAfterSeconds: expect.any(Number) },
      message: expect.stringMatching(
        /^You have reached the limit of 100 account changes per hour. Try again in 6\d minutes\.$/,
      ),
    });
  expect(await countEvents(userId)).toBe(events);
  // A change to the same value is none.
  await client.account.rename.mutate({ name: " Ada " });
  await client.factors.removePasskey.mutate({ id });
  await sql`update throttle_buckets set full_at = full_at - interval '70 minutes'`.execute(app.owner);
  for (const change of [changes[0], changes[3], changes[4], enableTotp]) await change?.();
});

async function countEvents(userId: UserId): Promise<number> {
  const rows = app.owner.selectFrom("security_events").select("id").where("user_id", "=", userId);
  return (await rows.execute()).length;
}
