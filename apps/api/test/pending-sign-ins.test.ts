// A sign-in that waits for its second factor doesn't outlive the password that started it: a change that runs between two
// steps of the sign-in waits for the same locks, and whichever comes second sees the first.

import type { UserId } from "@latchkey/db/ids";
import { encodeId } from "@latchkey/db/ids";
import { countWaiting } from "@latchkey/db/testing/count-waiting";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { disableAccount, enableAccount } from "../src/domain/accounts.ts";
import { createResetLink } from "../src/domain/password-reset.ts";
import { createSoftwarePasskey } from "./software-passkey.ts";
import { holdLocks } from "./table-locks.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const newPassword = "a quiet walk by the river";

/** A user with a passkey and recovery codes, who is signed in. */
async function addFactorUser() {
  const { userId, email } = await app.addUser();
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  const { passkey, recoveryCodes } = await addPasskey(client);
  return { userId, email, client, passkey, codes: recoveryCodes ?? [] };
}

async function addPasskey(client: ReturnType<typeof openClient>["client"]) {
  const passkey = createSoftwarePasskey(app.baseUrl.replace("127.0.0.1", "localhost"));
  const response = passkey.register(await client.factors.startPasskey.mutate());
  return { passkey, ...(await client.factors.addPasskey.mutate({ name: "Laptop", response })) };
}

type Person = Awaited<ReturnType<typeof addFactorUser>>;

async function createResetToken(email: string): Promise<string> {
  const options = { baseUrl: app.baseUrl, lifetimeSeconds: 600, origin: commandOrigin };
  const { url } = await createResetLink(app.services.db, { email }, options);
  return url.split("#")[1] ?? "";
}

const listVerifications = async (userId: UserId) =>
  await app.owner.selectFrom("verifications").select("identifier").where("value", "=", userId).execute();

/** Prepares a change to a user's account, and returns the function that makes it. */
const changes: Readonly<Record<string, (person: Person) => Promise<() => Promise<unknown>>>> = {
  "the password is changed":
    async ({ client }) =>
    () =>
      client.account.changePassword.mutate({ currentPassword: password, newPassword }),
  "the password is reset": async ({ email }) => {
    const token = await createResetToken(email);
    return () => openClient(app.baseUrl).client.session.resetPassword.mutate({ token, newPassword });
  },
  "the user is disabled":
    async ({ userId }) =>
    () =>
      disableAccount((work) => app.services.db.transaction().execute(work), userId, commandOrigin),
};

describe.each(Object.entries(changes))("if %s", (_what, prepare) => {
  test("between the check of the password and the wait for the second factor, the sign-in ends", async () => {
    const person = await addFactorUser();
    const change = await prepare(person);
    const statement = "select from users where id = $1 for no key update";
    const unlock = await holdLocks(app.database, statement, [person.userId]);
    const changed = change();
    await expect.poll(() => countWaiting(app.owner)).toBe(1);
    const { client } = openClient(app.baseUrl);
    const rejected = expect(
      client.session.signIn.mutate({ email: person.email, password }),
    ).rejects.toMatchObject({
      data: { code: "UNAUTHORIZED" },
      message: "The email address or password is wrong.",
    });
    await expect.poll(() => countWaiting(app.owner)).toBe(2);
    await unlock();
    await changed;
    await rejected;
    expect(await listVerifications(person.userId)).toEqual([]);
  });

  test("while the sign-in waits for the second factor, the sign-in ends", async () => {
    const person = await addFactorUser();
    const { client } = openClient(app.baseUrl);
    await client.session.signIn.mutate({ email: person.email, password });
    await (await prepare(person))();
    // Earlier sign-ins stay ended when the user is enabled again.
    await app.services.db.transaction().execute((trx) => enableAccount(trx, person.userId, commandOrigin));
    await expect(client.session.enterCode.mutate({ code: person.codes[0] ?? "" })).rejects.toMatchObject({
      data: { code: "UNAUTHORIZED" },
    });
  });
});

test("if the password is reset between the second factor and the session, no session is kept", async () => {
  const { userId, email, codes } = await addFactorUser();
  await app.owner.deleteFrom("sessions").where("user_id", "=", userId).execute();
  const token = await createResetToken(email);
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  // The new session waits for this lock, after the code was used up. So does the reset, when it ends the sessions.
  const unlock = await holdLocks(app.database, "lock table sessions in share mode");
  const rejected = expect(client.session.enterCode.mutate({ code: codes[0] ?? "" })).rejects.toMatchObject({
    data: { code: "UNAUTHORIZED" },
  });
  await expect.poll(() => countWaiting(app.owner)).toBe(1);
  const reset = openClient(app.baseUrl).client.session.resetPassword.mutate({ token, newPassword });
  await expect.poll(() => countWaiting(app.owner)).toBe(2);
  await unlock();
  await reset;
  await rejected;
  const sessions = await app.owner
    .selectFrom("sessions")
    .select("id")
    .where("user_id", "=", userId)
    .execute();
  expect(sessions).toEqual([]);
  expect(await listVerifications(userId)).toEqual([]);
});

test.each([
  ["signs out everywhere", ({ client }: Person) => client.account.signOutEverywhere.mutate()],
  ["ends the other sessions", ({ client }: Person) => client.account.endOtherSessions.mutate()],
  ["adds another second factor", ({ client }: Person) => addPasskey(client)],
  [
    "lets an operator end the sessions",
    async ({ userId }: Person) => {
      const { email, userId: operatorId } = await app.addUser();
      await app.owner.updateTable("users").set({ is_operator: true }).where("id", "=", operatorId).execute();
      const { client } = openClient(app.baseUrl);
      await client.session.signIn.mutate({ email, password });
      await client.operator.endSessions.mutate({ userId: encodeId("user", userId) });
    },
  ],
])("a sign-in that waits for its second factor ends if the user %s", async (_what, end) => {
  const person = await addFactorUser();
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email: person.email, password });
  await end(person);
  await expect(client.session.enterCode.mutate({ code: person.codes[0] ?? "" })).rejects.toMatchObject({
    data: { code: "UNAUTHORIZED" },
  });
});

test("a completed sign-in leaves nothing pending", async () => {
  const { userId, email, codes } = await addFactorUser();
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  expect(await listVerifications(userId)).toHaveLength(1);
  await client.session.enterCode.mutate({ code: codes[0] ?? "" });
  expect(await listVerifications(userId)).toEqual([]);
  expect((await client.account.sessions.query()).filter(({ isCurrent }) => isCurrent)).toHaveLength(1);
});

test("a sign-in that a passkey completes doesn't stay pending, and that of another user does", async () => {
  const [person, other] = [await addFactorUser(), await addFactorUser()];
  const { client, jar } = openClient(app.baseUrl);
  const enterCode = async ({ codes }: Person, pending: string) => {
    const copy = openClient(app.baseUrl);
    copy.jar.set("latchkey-second-factor", pending);
    return await copy.client.session.enterCode.mutate({ code: codes[0] ?? "" });
  };
  const startSignIn = async ({ email }: Person) => {
    await client.session.signIn.mutate({ email, password });
    return jar.get("latchkey-second-factor") ?? "";
  };
  const usePasskey = async () => {
    const challenge = await client.session.startPasskey.mutate({ isSecondFactor: false });
    await client.session.signInWithPasskey.mutate({ response: person.passkey.authenticate(challenge) });
  };
  const pending = await startSignIn(person);
  await usePasskey();
  await expect(enterCode(person, pending)).rejects.toMatchObject({ data: { code: "UNAUTHORIZED" } });
  const othersPending = await startSignIn(other);
  await usePasskey();
  await enterCode(other, othersPending);
});
