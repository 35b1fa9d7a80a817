// Deleting an account with everything that belongs to it.
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { decodeId, encodeId, type KeyId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import { listOperatorIds } from "@latchkey/db/operators";
import type { Role } from "@latchkey/db/role";
import type { Trx } from "@latchkey/db/schema";
import { countWaiting } from "@latchkey/db/testing/count-waiting";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { deleteAccount } from "../src/domain/account-deletion.ts";
import { updateKey } from "../src/domain/api-key-edits.ts";
import { addMember, changeMemberRole, removeMember } from "../src/domain/members.ts";
import { grantOperator } from "../src/domain/operators.ts";
import { createResetLink } from "../src/domain/password-reset.ts";
import { holdLocks } from "./table-locks.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
let operator: UserId;
beforeAll(async () => {
  app = await startTestApp();
  operator = (await app.addUser()).userId;
});
afterAll(() => app.close());

interface Person {
  readonly client: ReturnType<typeof openClient>["client"];
  readonly userId: UserId;
  readonly id: string;
  readonly email: string;
}

async function addPerson(): Promise<Person> {
  const { userId, email } = await app.addUser();
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  return { client, userId, id: encodeId("user", userId), email };
}

async function addTeam(owner: Person, name = "Team") {
  const { id } = await owner.client.workspaces.create.mutate({ name });
  // The API has just created it.
  return { id, scope: openAsOperator(decodeId("workspace", id) as WorkspaceId) };
}

type Team = Awaited<ReturnType<typeof addTeam>>;

async function add({ scope }: Team, { userId }: Person, role: Role): Promise<void> {
  const { db, quotas } = app.services;
  const edit = { scope, origin: commandOrigin };
  await db.transaction().execute((trx) => addMember(trx, edit, { userId, role }, quotas));
}

const remove = ({ client, email }: Person) => client.account.delete.mutate({ email });

function removeByCommand({ userId }: Pick<Person, "userId">): ReturnType<typeof deleteAccount> {
  const { db } = app.services;
  return deleteAccount({
    userId,
    origin: commandOrigin,
    transact: (work) => db.transaction().execute(work),
  });
}

const failsWith = (code: string, message?: string) => ({
  data: { code },
  ...(message === undefined ? {} : { message: expect.stringContaining(message) }),
});

async function call(secret: string): Promise<number> {
  const response = await fetch(`${app.baseUrl}/open/me`, { headers: { Authorization: `Bearer ${secret}` } });
  await response.text();
  return response.status;
}

/** The tables with a column that refers to a user, except logs, with the number of rows of this user. */
async function countRows({ userId, email }: Person): Promise<Record<string, number>> {
  const { rows } = await sql<{ table: string; count: number }>`
    select 'users' as table, count(*) from users where id = ${userId}
    union all select 'accounts', count(*) from accounts where user_id = ${userId}
    union all select 'sessions', count(*) from sessions where user_id = ${userId}
    union all select 'members', count(*) from members where user_id = ${userId}
    union all select 'api_keys', count(*) from api_keys where user_id = ${userId}
    union all select 'invitations', count(*) from invitations where invited_by = ${userId}
    union all select 'security_events', count(*) from security_events where user_id = ${userId}
    union all select 'sign_in_origins', count(*) from sign_in_origins where user_id = ${userId}
    union all select 'verifications', count(*) from verifications where value like ${`${userId}%`}
    union all select 'email', count(*) from users where email = ${email}`.execute(app.owner);
  return Object.fromEntries(rows.map(({ table, count }) => [table, count]));
}

test("deletes everything that belongs to the user; the workspaces of others and their logs stay", async () => {
  const [owner, leaver] = [await addPerson(), await addPerson()];
  const team = await addTeam(owner);
  await add(team, leaver, "admin");
  const own = await addTeam(leaver, "Alone");
  const { secret } = await app.addKey(leaver.userId);
  const deleted = await app.addKey(leaver.userId);
  expect(await call(secret)).toBe(200);
  expect(await call(deleted.secret)).toBe(200);
  await app.deleteKey(deleted);
  await leaver.client.invitations.create.mutate({
    workspaceId: team.id,
    email: "new@example.com",
    role: "member",
  });
  const options = { baseUrl: "", lifetimeSeconds: 60, origin: commandOrigin };
  await createResetLink(app.services.db, { id: leaver.userId }, options);
  for (const count of Object.values(await countRows(leaver))) expect(count).toBeGreaterThan(0);
  const counters = () =>
    app.owner.selectFrom("key_counters").select("key_id").where("key_id", "in", [deleted.id]).execute();
  expect(await counters()).toHaveLength(1);

  await expect(leaver.client.account.delete.mutate({ email: owner.email })).rejects.toMatchObject(
    failsWith("BAD_REQUEST"),
  );
  expect(await leaver.client.account.deletion.query()).toMatchObject({
    keyCount: 1,
    lastUsedAt: expect.stringMatching(/Z$/),
    isNeededOperator: false,
    blockingWorkspaces: [],
    deletedWorkspaces: [{ name: "Ada’s workspace" }, { name: "Alone" }],
  });
  await leaver.client.account.delete.mutate({ email: leaver.email.toUpperCase() });

  expect(await call(secret)).toBe(403);
  for (const count of Object.values(await countRows(leaver))) expect(count).toBe(0);
  expect(await counters()).toEqual([]);
  expect(await leaver.client.session.current.query()).toBeNull();
  const remaining = await app.owner
    .selectFrom("workspaces")
    .select("id")
    .where("id", "=", own.scope.workspaceId)
    .execute();
  expect(remaining).toEqual([]);
  const { items } = await owner.client.audit.list.query({ workspaceId: team.id });
  const actor = { kind: "session", userId: leaver.id, name: "Ada" };
  expect(items.slice(0, 2)).toMatchObject([
    {
      action: "member.account-deleted",
      actor,
      target: { id: leaver.id, name: "Ada" },
      before: { role: "admin" },
    },
    { action: "invitation.revoked", actor, before: { email: "new@example.com", role: "member" } },
  ]);
  expect(items.find(({ action }) => action === "member.added")?.target).toMatchObject({ name: "Ada" });

  // The email address can be registered again.
  const { client } = openClient(app.baseUrl);
  await expect(client.session.signIn.mutate({ email: leaver.email, password })).rejects.toMatchObject(
    failsWith("UNAUTHORIZED"),
  );
  await client.session.signUp.mutate({ name: "Again", email: leaver.email, password });
  expect((await client.session.current.query())?.workspaces).toHaveLength(1);
});

test("the last owner of a workspace with other members is rejected, with the names of the workspaces", async () => {
  const [owner, member] = [await addPerson(), await addPerson()];
  const [first, second] = [await addTeam(owner, "First"), await addTeam(owner, "Second")];
  await add(first, member, "admin");
  await add(second, member, "viewer");
  const { secret } = await app.addKey(owner.userId);
  expect(await owner.client.account.deletion.query()).toMatchObject({
    blockingWorkspaces: [{ name: "First" }, { name: "Second" }],
  });
  await expect(remove(owner)).rejects.toMatchObject(failsWith("CONFLICT", "“First” and “Second”"));
  await expect(removeByCommand(owner)).rejects.toMatchObject({
    code: "CONFLICT",
    message: expect.stringContaining(`first: “First” (${first.id}) and “Second” (${second.id}).`),
  });
  expect(await call(secret)).toBe(200);
  for (const { id: workspaceId } of [first, second]) {
    await owner.client.ownership.offer.mutate({ workspaceId, userId: member.id });
    await member.client.ownership.accept.mutate({ workspaceId });
  }
  await remove(owner);
  expect(await call(secret)).toBe(403);
});

test("requires recent authentication and a live session", async () => {
  const person = await addPerson();
  await sql`
    update sessions set created_at = created_at - interval '1 hour', authenticated_at = null
    where user_id = ${person.userId}`.execute(app.owner);
  await expect(remove(person)).rejects.toMatchObject({
    data: { issues: [{ code: "reauthentication_required" }] },
  });
  await person.client.account.confirmPassword.mutate({ password });
  await app.owner.deleteFrom("sessions").where("user_id", "=", person.userId).execute();
  await expect(remove(person)).rejects.toMatchObject(failsWith("UNAUTHORIZED"));
  expect(await countRows(person)).toMatchObject({ users: 1 });
});

test("the operator can be deleted only as the last user; the next account is the operator", async () => {
  const other = await startTestApp();
  try {
    const { db } = other.services;
    const transact: Parameters<typeof deleteAccount>[0]["transact"] = (work) =>
      db.transaction().execute(work);
    const [first, second] = [await other.addUser(), await other.addUser()];
    const remove = ({ userId }: Pick<Person, "userId">) =>
      deleteAccount({ userId, origin: commandOrigin, transact });
    await expect(remove(first)).rejects.toMatchObject({
      code: "CONFLICT",
      message: expect.stringContaining("The only operator who can sign in can’t be deleted"),
    });
    await remove(second);
    // However a sign-up and the deletion overlap, an instance with users has an operator.
    const [, next] = await Promise.all([remove(first).catch(() => undefined), other.addUser()]);
    const operators = await other.owner
      .selectFrom("users")
      .select("id")
      .where("is_operator", "=", true)
      .execute();
    expect(operators).toHaveLength(1);
    expect([first.userId, next.userId]).toContain(operators[0]?.id);
  } finally {
    await other.close();
  }
});

test("an operator can be deleted while another one can sign in, and the instance log keeps both names", async () => {
  const other = await startTestApp();
  try {
    const { db } = other.services;
    const transact: Parameters<typeof deleteAccount>[0]["transact"] = (work) =>
      db.transaction().execute(work);
    const [first, second] = [await other.addUser(), await other.addUser()];
    await transact((trx) => grantOperator(trx, second.userId, commandOrigin));
    await deleteAccount({ userId: first.userId, origin: commandOrigin, transact });
    const events = await other.owner
      .selectFrom("instance_events")
      .select(["action", "target_user_email", "target_workspace_name"])
      .where("action", "in", ["workspace.deleted", "user.deleted"])
      .orderBy("occurred_at")
      .execute();
    expect(events).toEqual([
      { action: "workspace.deleted", target_user_email: null, target_workspace_name: "Ada’s workspace" },
      { action: "user.deleted", target_user_email: first.email, target_workspace_name: null },
    ]);
  } finally {
    await other.close();
  }
});

test("of two operators who are deleted at the same time, one stays as long as there are other users", async () => {
  const other = await startTestApp();
  try {
    const { db } = other.services;
    const transact: Parameters<typeof deleteAccount>[0]["transact"] = (work) =>
      db.transaction().execute(work);
    await other.addUser();
    await other.addUser();
    for (let round = 0; round < 5; round += 1) {
      const { userId } = await other.addUser();
      await transact((trx) => grantOperator(trx, userId, commandOrigin));
      const outcomes = await Promise.allSettled(
        (await listOperatorIds(other.owner)).map((id) =>
          deleteAccount({ userId: id, origin: commandOrigin, transact }),
        ),
      );
      expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
      for (const outcome of outcomes)
        if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: "CONFLICT" });
      expect(await listOperatorIds(other.owner)).toHaveLength(1);
    }
  } finally {
    await other.close();
  }
});

test("an operator who becomes the last person while they are deleted makes sign-ups wait", async () => {
  const other = await startTestApp();
  onTestFinished(() => other.close());
  const { db } = other.services;
  const transact: Parameters<typeof deleteAccount>[0]["transact"] = (work) => db.transaction().execute(work);
  const [first, second] = [await other.addKey(), await other.addKey()];
  await transact((trx) => grantOperator(trx, second.userId, commandOrigin));
  // The deletion of an account locks the counters of its keys last.
  const hold = ({ id }: { readonly id: KeyId }) =>
    holdLocks(other.database, "select from key_counters where key_id = $1 for update", [id]);
  const remove = ({ userId }: { readonly userId: UserId }) =>
    deleteAccount({ userId, origin: commandOrigin, transact });
  const countTableLocks = async (mode: string, isGranted: boolean) => {
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from pg_locks
      where relation = 'users'::regclass and mode = ${mode} and granted = ${isGranted}
        -- The databases of tests are copies of one, with the same IDs of tables.
        and database = (select oid from pg_database where datname = current_database())`.execute(other.owner);
    return rows[0]?.count;
  };
  const [releaseFirst, releaseSecond] = [await hold(first), await hold(second)];
  const removals = [remove(first)];
  await expect.poll(() => countWaiting(other.owner)).toBe(1);
  removals.push(remove(second));
  await expect.poll(() => countWaiting(other.owner)).toBe(2); // The first deletion has locked both operators.
  await releaseFirst();
  await expect.poll(() => countTableLocks("ShareRowExclusiveLock", true)).toBe(1);
  const signUp = other.addUser();
  await expect.poll(() => countTableLocks("RowExclusiveLock", false)).toBe(1);
  await releaseSecond();
  const [{ userId }] = await Promise.all([signUp, ...removals]);
  expect(await listOperatorIds(other.owner)).toEqual([userId]);
});

test("while the deletion of an operator waits for a workspace, others sign up and change users", async () => {
  const [owner, leaver] = [await addPerson(), await addPerson()];
  const team = await addTeam(owner);
  await add(team, leaver, "member");
  await transact((trx) => grantOperator(trx, leaver.userId, commandOrigin));
  const statement = "select from workspaces where id = $1 for no key update";
  const commit = await holdLocks(app.database, statement, [team.scope.workspaceId]);
  const removal = remove(leaver);
  await expect.poll(() => countWaiting(app.owner)).toBe(1);
  await app.disableUser((await app.addUser()).userId);
  await commit();
  await removal;
  expect(await countRows(leaver)).toMatchObject({ users: 0 });
});

test("a session that ends while the deletion waits deletes nothing", async () => {
  const person = await addPerson();
  // Records the use of the session, so that the deletion does not write it.
  await person.client.account.sessions.query();
  const statement = `
    with ended as (delete from sessions where user_id = $1) select from users where id = $1 for update`;
  const commit = await holdLocks(app.database, statement, [person.userId]);
  const rejected = expect(remove(person)).rejects.toMatchObject(failsWith("UNAUTHORIZED"));
  await expect.poll(() => countWaiting(app.owner)).toBe(1);
  await commit();
  await rejected;
  expect(await countRows(person)).toMatchObject({ users: 1, members: 1 });
});

test("of two last owners who delete their accounts at the same time, one is rejected", async () => {
  for (let round = 0; round < 5; round += 1) {
    const [one, other, member] = [await addPerson(), await addPerson(), await addPerson()];
    const team = await addTeam(one);
    await add(team, other, "owner");
    await add(team, member, "viewer");
    const outcomes = await Promise.allSettled([remove(one), remove(other)]);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const outcome of outcomes)
      if (outcome.status === "rejected") expect(outcome.reason).toMatchObject(failsWith("CONFLICT"));
  }
});

test("concurrent deletions of one account: one succeeds, and none fails with an internal error", async () => {
  const person = await addPerson();
  const outcomes = await Promise.allSettled([remove(person), remove(person), removeByCommand(person)]);
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  for (const outcome of outcomes)
    if (outcome.status === "rejected") {
      const { code = outcome.reason.data?.code } = outcome.reason;
      expect(["UNAUTHORIZED", "NOT_FOUND"]).toContain(code);
    }
});

const transact = <Result>(work: (trx: Trx) => Promise<Result>) => app.services.db.transaction().execute(work);

test("concurrent account deletions, also of operators, role changes, new service accounts, key edits, uses and sign-ins don't deadlock", async () => {
  const owner = await addPerson();
  const team = await addTeam(owner);
  const people = await Promise.all(Array.from({ length: 6 }, () => addPerson()));
  const second = await addTeam(owner);
  for (const person of people) {
    await add(team, person, "admin");
    await add(second, person, "member");
  }
  for (const { userId } of people.slice(0, 2))
    await transact((trx) => grantOperator(trx, userId, commandOrigin));
  const keys = await Promise.all(people.flatMap(({ userId }) => [app.addKey(userId), app.addKey(userId)]));
  const { quotas } = app.services;
  const edit = { scope: team.scope, origin: commandOrigin };
  const allowed = ["NOT_FOUND", "FORBIDDEN", "UNAUTHORIZED", "PRECONDITION_FAILED"];
  const deadlocks = async () => {
    const { rows } = await sql<{ deadlocks: number }>`
      select deadlocks from pg_stat_database where datname = current_database()`.execute(app.owner);
    return rows[0]?.deadlocks;
  };
  const before = await deadlocks();
  const statuses: number[] = [];
  const signIns = Promise.allSettled(
    people.map(({ email }) => openClient(app.baseUrl).client.session.signIn.mutate({ email, password })),
  );
  const outcomes = await Promise.allSettled([
    ...people.map((person) => remove(person)),
    ...people.map(({ userId }) =>
      transact((trx) => changeMemberRole(trx, edit, { userId, role: "viewer", versions: undefined }, quotas)),
    ),
    // Each locks the workspace before it adds a user.
    ...people.map(({ userId: name }) =>
      owner.client.serviceAccounts.create.mutate({ workspaceId: second.id, name, role: "viewer" }),
    ),
    ...people
      .slice(3)
      .map(({ userId }) =>
        transact((trx) => removeMember(trx, { ...edit, scope: second.scope }, { userId })),
      ),
    ...keys.map(({ userId, id }) =>
      transact((trx) =>
        updateKey(
          trx,
          { userId, id, origin: commandOrigin },
          { settings: { isReadOnly: true }, mayExpand: false },
          quotas,
        ),
      ),
    ),
    ...[...keys, ...keys.toReversed()].map(async ({ secret }) => statuses.push(await call(secret))),
  ]);
  const requireAllowed = (outcome: PromiseSettledResult<unknown>, codes: readonly string[]) => {
    if (outcome.status === "fulfilled") return;
    const { code = outcome.reason.data?.code } = outcome.reason;
    expect(codes, String(outcome.reason)).toContain(code);
  };
  for (const outcome of outcomes) requireAllowed(outcome, allowed);
  // On every node, a password waits for at most 5 s.
  for (const outcome of await signIns) requireAllowed(outcome, [...allowed, "SERVICE_UNAVAILABLE"]);
  expect(outcomes.slice(0, people.length).map(({ status }) => status)).toEqual(people.map(() => "fulfilled"));
  expect(statuses.filter((status) => ![200, 403].includes(status))).toEqual([]);
  for (const { secret } of keys) expect(await call(secret)).toBe(403);
  expect(await deadlocks()).toBe(before);
  expect((await owner.client.members.list.query({ workspaceId: team.id })).total).toBe(1);
});

test("the command deletes any other user, and the audit log names the command", async () => {
  const [owner, member] = [await addPerson(), await addPerson()];
  const team = await addTeam(owner);
  await add(team, member, "viewer");
  const alone = await addTeam(member, "Alone");
  const [working, disabled, expired] = [
    await app.addKey(member.userId),
    await app.addKey(member.userId),
    await app.addKey(member.userId),
  ];
  const set = (id: KeyId, values: object) =>
    app.owner.updateTable("api_keys").set(values).where("id", "=", id).execute();
  await set(disabled.id, { disabled_at: new Date() });
  await set(expired.id, { expires_at: new Date(0) });
  expect(await call(working.secret)).toBe(200);
  expect(await member.client.account.deletion.query()).toMatchObject({ keyCount: 1 });
  expect(await removeByCommand(member)).toMatchObject({
    keyCount: 1,
    deletedWorkspaces: [{ name: "Ada’s workspace" }, { id: alone.scope.workspaceId, name: "Alone" }],
  });
  const { items } = await owner.client.audit.list.query({ workspaceId: team.id });
  expect(items[0]).toMatchObject({
    action: "member.account-deleted",
    actor: { kind: "command" },
    target: { id: member.id, name: "Ada" },
  });
  await expect(removeByCommand(member)).rejects.toMatchObject({ code: "NOT_FOUND" });
  await expect(removeByCommand({ userId: operator })).rejects.toMatchObject({ code: "CONFLICT" });
});
