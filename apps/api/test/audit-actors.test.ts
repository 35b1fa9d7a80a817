// The actors that filter an audit log: members, former members, service accounts and deleted users.
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { findAuditActors } from "@latchkey/db/audit-actors";
import { createId, decodeId, encodeId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { deleteAccount } from "../src/domain/account-deletion.ts";
import { addMember } from "../src/domain/members.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

async function addTeam() {
  const { userId, email } = await app.addUser();
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  const { id } = await client.workspaces.create.mutate({ name: "Team" });
  const { secret } = await app.addKey(userId);
  const scope = openAsOperator(decodeId("workspace", id) as WorkspaceId); // The API has just created it.
  return { id, client, email, secret, scope, ownerId: encodeId("user", userId) };
}

type Team = Awaited<ReturnType<typeof addTeam>>;

/** Adds an admin who then makes a change. */
async function addActor({ id, scope }: Team, version = 1) {
  const { userId, email } = await app.addUser();
  const { db, quotas } = app.services;
  const edit = { scope, origin: commandOrigin };
  await db.transaction().execute((trx) => addMember(trx, edit, { userId, role: "admin" }, quotas));
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  await client.account.rename.mutate({ name: `Actor ${userId.slice(-6)}` });
  await client.workspaces.update.mutate({ workspaceId: id, description: userId, version });
  return { userId, id: encodeId("user", userId), email, name: `Actor ${userId.slice(-6)}` };
}

async function countOpenEvents({ id, secret }: Team, actorId: string): Promise<number> {
  const url = `${app.baseUrl}/open/workspaces/${id}/audit-events?actorId=${actorId}`;
  const response = await fetch(url, { headers: { Authorization: `Bearer ${secret}` } });
  return ((await response.json()) as { data: object[] }).data.length; // The API's response.
}

test("finds members, former members, service accounts and deleted users who made changes", async () => {
  const team = await addTeam();
  const [member, former, deleted] = [
    await addActor(team, 1),
    await addActor(team, 2),
    await addActor(team, 3),
  ];
  const workspaceId = team.id;
  const account = { workspaceId, name: "Deploys", role: "admin" } as const;
  const { userId: serviceId } = await team.client.serviceAccounts.create.mutate(account);
  const { key } = await team.client.serviceAccounts.createKey.mutate({
    workspaceId,
    userId: serviceId,
    name: "CI",
  });
  const renamed = await fetch(`${app.baseUrl}/open/workspaces/${team.id}`, {
    method: "PATCH",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    body: JSON.stringify({ name: "Renamed" }),
  });
  expect(renamed.status).toBe(200);
  await team.client.members.remove.mutate({ workspaceId, userId: former.id });
  await team.client.serviceAccounts.delete.mutate({ workspaceId, userId: serviceId });
  await deleteAccount({
    userId: deleted.userId,
    origin: commandOrigin,
    transact: (work) => app.services.db.transaction().execute(work),
  });
  const actors = await team.client.audit.actors.query({ workspaceId });
  expect(actors).toHaveLength(5);
  const find = (id: string) => actors.find((actor) => actor.id === id);
  expect(find(team.ownerId)).toMatchObject({ name: "Ada", email: team.email, kind: "person" });
  expect(find(member.id)).toMatchObject({ name: member.name, email: member.email, kind: "person" });
  // Their email addresses are no longer shown to members of the workspace.
  expect(find(former.id)).toMatchObject({ name: former.name, email: null, kind: "person" });
  expect(find(deleted.id)).toMatchObject({ name: deleted.name, email: null, kind: null });
  expect(find(serviceId)).toMatchObject({ name: "Deploys", email: null, kind: "service_account" });

  const search = async (text: string) =>
    (await team.client.audit.actors.query({ workspaceId, search: text })).map(({ id }) => id);
  expect(await search(former.name.toUpperCase())).toEqual([former.id]);
  expect(await search(deleted.id)).toEqual([deleted.id]);
  expect(await search(member.email)).toEqual([member.id]);
  expect(await search(former.email)).toEqual([]);
  for (const id of [former.id, deleted.id, serviceId]) {
    expect((await team.client.audit.list.query({ workspaceId, actorId: id })).items.length).toBeGreaterThan(
      0,
    );
    expect(await countOpenEvents(team, id)).toBeGreaterThan(0);
  }
});

test("shows no actor of another workspace", async () => {
  const [team, other] = [await addTeam(), await addTeam()];
  await addActor(other);
  const actors = await team.client.audit.actors.query({ workspaceId: team.id });
  expect(actors.map(({ id }) => id)).toEqual([team.ownerId]);
});

test("steps through the index from actor to actor, however many events there are", async () => {
  const team = await addTeam();
  const { workspaceId } = team.scope;
  const actorIds = Array.from({ length: 30 }, () => createId("user"));
  await sql`
    insert into former_users (id, name) select id, 'Former' from unnest(${actorIds}::uuid[]) as listed (id)`.execute(
    app.owner,
  );
  await sql`
    insert into audit_events (workspace_id, id, action, actor_kind, actor_user_id, target_kind, target_id)
    select ${workspaceId}, gen_random_uuid(), 'workspace.renamed', 'session', id, 'workspace', ${workspaceId}
    from unnest(${actorIds}::uuid[]) as listed (id), generate_series(1, 700)`.execute(app.owner);
  await sql`analyze audit_events`.execute(app.owner);
  const page = { search: "former", limit: 100 };
  const { actors, read } = await inWorkspace(app.services.db, team.scope, async (trx) => {
    const readCount = async () => {
      const { rows } = await sql<{ count: number }>`
        select pg_stat_get_xact_tuples_fetched('audit_events'::regclass)
          + pg_stat_get_xact_tuples_returned('audit_events'::regclass) as count`.execute(trx);
      return Number(rows[0]?.count);
    };
    const before = await readCount();
    const found = await findAuditActors(trx, team.scope, page);
    return { actors: found, read: (await readCount()) - before };
  });
  expect(new Set(actors.map(({ userId }) => userId))).toEqual(new Set(actorIds as UserId[]));
  expect(read).toBeLessThan(500);
});

test("finds an actor by ID among more actors than a search considers", async () => {
  const team = await addTeam();
  const actor = await addActor(team);
  await team.client.members.remove.mutate({ workspaceId: team.id, userId: actor.id });
  await sql`
    insert into audit_events (workspace_id, id, occurred_at, action, actor_kind, actor_user_id, target_kind, target_id)
    select ${team.scope.workspaceId}::uuid, gen_random_uuid(), now(), 'workspace.renamed', 'session',
      ('ffffffff-ffff-4fff-bfff-' || lpad(to_hex(n), 12, '0'))::uuid, 'workspace', ${team.scope.workspaceId}::uuid
    from generate_series(1, 1000) n`.execute(app.owner);
  await sql`analyze audit_events`.execute(app.owner);
  const search = (text: string) => team.client.audit.actors.query({ workspaceId: team.id, search: text });
  expect(await search(actor.name)).toEqual([]);
  expect(await search(actor.id)).toMatchObject([{ id: actor.id, name: actor.name }]);
});
