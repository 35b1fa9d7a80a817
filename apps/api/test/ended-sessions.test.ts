// A session ends while its request waits for a lock: the change is rejected, and nothing is changed. The same for a
// sign-in whose password or factor is replaced or removed, or whose user is deleted, while it waits, and for a command about a
// user who is deleted.
import { createId, decodeId, encodeId, type SessionId, type UserId } from "@latchkey/db/ids";
import type { Trx } from "@latchkey/db/schema";
import { countWaiting } from "@latchkey/db/testing/count-waiting";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { lockAccount } from "../src/domain/account.ts";
import { deleteAccount } from "../src/domain/account-deletion.ts";
import { changeAccountEmail } from "../src/domain/email-change.ts";
import { createResetLink, recordResetEmail } from "../src/domain/password-reset.ts";
import { resetSecondFactors } from "../src/domain/second-factors.ts";
import { completeSignIn } from "../src/domain/sign-in.ts";
import { createSoftwarePasskey } from "./software-passkey.ts";
import { holdLocks } from "./table-locks.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
  await app.addUser(); // The operator: the first account can't be deleted.
});
afterAll(() => app.close());

async function signIn() {
  const { userId, email } = await app.addUser();
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  const sessionId = decodeId("session", (await client.account.sessions.query())[0]?.id ?? "") as SessionId; // The only one.
  const { id: workspaceId } = await client.workspaces.create.mutate({ name: "Team" });
  return { userId, email, client, sessionId, workspaceId };
}

type Person = Awaited<ReturnType<typeof signIn>>;

/** Locks a user as changes do. */
const lockUser = (userId: UserId) =>
  holdLocks(app.database, "select from users where id = $1 for no key update", [userId]);

const changes: Readonly<Record<string, (person: Person) => Promise<unknown>>> = {
  "renames a workspace": ({ client, workspaceId }) =>
    client.workspaces.update.mutate({ workspaceId, name: "Mallory", version: 1 }),
  "creates a workspace": ({ client }) => client.workspaces.create.mutate({ name: "Mallory" }),
  "creates an API key": ({ client }) => client.apiKeys.create.mutate({ name: "Mallory" }),
  "invites a person": ({ client, workspaceId }) =>
    client.invitations.create.mutate({ workspaceId, email: "mallory@example.com", role: "member" }),
  "accepts an invitation": async ({ client, email }) => {
    const { client: inviter } = await signIn();
    const { id: workspaceId } = await inviter.workspaces.create.mutate({ name: "Mallory" });
    const { url } = await inviter.invitations.create.mutate({ workspaceId, email, role: "member" });
    return await client.invitations.accept.mutate({ token: url?.split("#")[1] ?? "" });
  },
  "creates a webhook": ({ client, workspaceId }) =>
    client.webhooks.create.mutate({ workspaceId, url: "https://mallory.example.com/" }),
  "deletes a workspace": ({ client, workspaceId }) => client.workspaces.delete.mutate({ workspaceId }),
};

describe.each(Object.entries(changes))("a request that %s", (_what, change) => {
  test.each<[string, (person: Person) => Promise<unknown>]>([
    ["is signed out", ({ client }) => client.session.signOut.mutate()],
    [
      "expires",
      ({ sessionId }) =>
        app.owner
          .updateTable("sessions")
          .set({ expires_at: new Date(0) })
          .where("id", "=", sessionId)
          .execute(),
    ],
  ])("is rejected if its session %s while it waits", async (_how, end) => {
    const person = await signIn();
    const unlock = await lockUser(person.userId);
    const rejected = expect(change(person)).rejects.toMatchObject({ data: { code: "UNAUTHORIZED" } });
    await expect.poll(() => countWaiting(app.owner)).toBe(1);
    await end(person);
    await unlock();
    await rejected;
    const names = await app.owner
      .selectFrom("members")
      .innerJoin("workspaces", "workspaces.id", "members.workspace_id")
      .select("workspaces.name")
      .where("members.user_id", "=", person.userId)
      .execute();
    expect(names.map(({ name }) => name).filter((name) => name === "Team")).toHaveLength(1);
    expect(names.map(({ name }) => name)).not.toContain("Mallory");
  });
});

test("a request is rejected if another session adds a second factor while it waits", async () => {
  const person = await signIn();
  const statement = `
    with added as (insert into totp_factors (user_id, secret, confirmed_at) values ($1, 'sealed', now()))
    select from users where id = $1 for update`;
  const commit = await holdLocks(app.database, statement, [person.userId]);
  const rejected = expect(
    person.client.workspaces.update.mutate({ workspaceId: person.workspaceId, name: "Mallory", version: 1 }),
  ).rejects.toMatchObject({ data: { code: "UNAUTHORIZED" } });
  await expect.poll(() => countWaiting(app.owner)).toBe(1);
  await commit();
  await rejected;
});

test("a sign-out waits for a change to the account", async () => {
  const { userId, sessionId, client } = await signIn();
  const signOut = await app.owner.transaction().execute(async (trx) => {
    await lockAccount(trx, { userId, sessionId });
    const end = client.session.signOut.mutate();
    await expect.poll(() => countWaiting(app.owner)).toBe(1);
    return { end };
  });
  await signOut.end;
});

test("an operator's change is rejected if the session ends while it waits", async () => {
  const operator = await signIn();
  await app.owner.updateTable("users").set({ is_operator: true }).where("id", "=", operator.userId).execute();
  const target = await app.addUser();
  const unlock = await lockUser(target.userId);
  const rejected = expect(
    operator.client.operator.disableUser.mutate({ userId: encodeId("user", target.userId) }),
  ).rejects.toMatchObject({ data: { code: "UNAUTHORIZED" } });
  await expect.poll(() => countWaiting(app.owner)).toBe(1);
  await operator.client.session.signOut.mutate();
  await unlock();
  await rejected;
  const { disabled_at: disabledAt } = await app.owner
    .selectFrom("users")
    .select("disabled_at")
    .where("id", "=", target.userId)
    .executeTakeFirstOrThrow();
  expect(disabledAt).toBeNull();
});

/** A user with a passkey and recovery codes. */
async function addFactorUser() {
  const person = await signIn();
  const passkey = createSoftwarePasskey(app.baseUrl.replace("127.0.0.1", "localhost"));
  const response = passkey.register(await person.client.factors.startPasskey.mutate());
  const { recoveryCodes } = await person.client.factors.addPasskey.mutate({ name: "Laptop", response });
  return { ...person, passkey, code: recoveryCodes?.[0] ?? "" };
}

/** How a user starts to sign in. The function that it returns finishes the sign-in. */
const signIns = {
  "the password": async () => {
    const { userId, email } = await app.addUser();
    const { client } = openClient(app.baseUrl);
    return { userId, finish: () => client.session.signIn.mutate({ email, password }) };
  },
  "the passkey": async () => {
    const { userId, passkey } = await addFactorUser();
    const { client } = openClient(app.baseUrl);
    const challenge = await client.session.startPasskey.mutate({ isSecondFactor: false });
    const response = passkey.authenticate(challenge);
    return { userId, finish: () => client.session.signInWithPasskey.mutate({ response }) };
  },
  "the second factor": async () => {
    const { userId, email, code } = await addFactorUser();
    const { client } = openClient(app.baseUrl);
    await client.session.signIn.mutate({ email, password });
    return { userId, finish: () => client.session.enterCode.mutate({ code }) };
  },
};

test.each([
  ["the password", "update accounts set password = 'another hash' where user_id ="],
  ["the passkey", "delete from passkeys where user_id ="],
  ["the second factor", "delete from passkeys where user_id ="],
] as const)(
  "a sign-in opens no session if %s is replaced or removed after it was checked",
  async (what, removal) => {
    const { userId, finish } = await signIns[what]();
    await app.owner.deleteFrom("sessions").where("user_id", "=", userId).execute();
    // The new session waits for this lock, after everything was checked.
    const unlock = await holdLocks(app.database, "lock table sessions in share mode");
    const rejected = expect(finish()).rejects.toMatchObject({ data: { code: "UNAUTHORIZED" } });
    await expect.poll(() => countWaiting(app.owner)).toBe(1);
    await sql`${sql.raw(removal)} ${userId}`.execute(app.owner);
    await unlock();
    await rejected;
    const sessions = await app.owner
      .selectFrom("sessions")
      .select("id")
      .where("user_id", "=", userId)
      .execute();
    expect(sessions).toEqual([]);
  },
);

const userRow = (userId: UserId) => sql`select from users where id = ${userId} for update`;
const userTable = () => sql`lock table users in access exclusive mode`;

/** Deletes a user, as the command does, while a request waits for a lock, and expects that the request is rejected. */
async function deleteWhileWaiting(
  userId: UserId,
  lock: typeof userRow,
  { request, rejection }: { readonly request: () => Promise<unknown>; readonly rejection: object },
): Promise<void> {
  const { rejected } = await app.owner.transaction().execute(async (trx) => {
    await lock(userId).execute(trx);
    const waiting = expect(request()).rejects.toMatchObject(rejection);
    await expect.poll(() => countWaiting(app.owner)).toBe(1);
    await deleteAccount({ userId, origin: commandOrigin, transact: (work) => work(trx) });
    return { rejected: waiting };
  });
  await rejected;
}

test.each([
  ["the password", "the row of the user", userRow],
  ["the passkey", "the row of the user", userRow],
  ["the second factor", "the row of the user", userRow],
  ["the second factor", "the table of users", userTable],
] as const)(
  "a sign-in is rejected if the user is deleted while the check of %s waits for %s",
  async (what, _locked, lock) => {
    const { userId, finish } = await signIns[what]();
    const rejection = { data: { code: "UNAUTHORIZED" } };
    await deleteWhileWaiting(userId, lock, { request: finish, rejection });
  },
);

test.each<[string, (id: UserId) => Promise<unknown>]>([
  [
    "creates a password reset link",
    (id) =>
      createResetLink(
        app.services.db,
        { id },
        { baseUrl: app.baseUrl, lifetimeSeconds: 60, origin: commandOrigin },
      ),
  ],
  ["removes the second factors", (id) => resetSecondFactors(app.services.db, { id }, commandOrigin)],
  [
    "changes the email address",
    (id) => changeAccountEmail(app.services.db, { id }, "new@example.com", commandOrigin),
  ],
])("a command that %s is rejected if the user is deleted while it waits", async (_what, change) => {
  const { userId } = await app.addUser();
  const rejection = { code: "NOT_FOUND", message: `There is no user ${encodeId("user", userId)}.` };
  await deleteWhileWaiting(userId, userRow, { request: () => change(userId), rejection });
});

test("an emailed password reset link is not recorded if the user was deleted while it was sent", async () => {
  const request = { email: "deleted@example.com", address: null, requestId: "req" };
  const recorded = recordResetEmail(app.services.db, createId("user"), request);
  await expect(recorded).resolves.toBeUndefined();
});

test("a sign-in is rejected if the user is deleted after the session was opened", async () => {
  const { userId } = await app.addUser();
  const { services } = app;
  const visitor = { address: null, requestId: "req", deviceId: undefined, headers: new Headers() };
  const session = await services.sessions.open(userId, visitor);
  const transact = <Result>(work: (trx: Trx) => Promise<Result>) => services.db.transaction().execute(work);
  await deleteAccount({ userId, origin: commandOrigin, transact });
  await expect(
    completeSignIn(services, session, { visitor, kind: "signed-in", factor: "passkey" }),
  ).rejects.toMatchObject({ code: "UNAUTHORIZED" });
});
