// An operator disables a workspace, and enables it again.

import type { Origin } from "@latchkey/db/audit-actions";
import {
  createId,
  type DeliveryId,
  decodeId,
  encodeId,
  type KeyspaceId,
  type UserId,
  type WorkspaceId,
} from "@latchkey/db/ids";
import { findNotices } from "@latchkey/db/notice-sources";
import type { Trx } from "@latchkey/db/schema";
import { countWaiting } from "@latchkey/db/testing/count-waiting";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { setDisabled } from "../src/domain/disabled-workspaces.ts";
import { grantOperator, revokeOperator } from "../src/domain/operators.ts";
import { prepareDelivery } from "../src/domain/webhook-deliveries.ts";
import { update } from "../src/domain/workspaces.ts";
import { addPerson, addTeam, join, type Person, type Team } from "./team.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
let operator: Person;
beforeAll(async () => {
  app = await startTestApp();
  operator = await addPerson(app); // The first account is an operator.
});
afterAll(() => app.close());

const setDisabledDirectly = (workspaceId: WorkspaceId, isDisabled: boolean, origin: Origin) =>
  app.services.db.transaction().execute((trx) => setDisabled(trx, workspaceId, { isDisabled, origin }));

const disable = ({ id }: Team) => operator.client.operator.disableWorkspace.mutate({ id });
const enable = ({ id }: Team) => operator.client.operator.enableWorkspace.mutate({ id });

async function call(secret: string, path: string, init: RequestInit = {}) {
  const headers = { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" };
  const response = await fetch(`${app.baseUrl}/open${path}`, { ...init, headers });
  const text = await response.text();
  return { status: response.status, body: text === "" ? null : JSON.parse(text) };
}

const forbidden = {
  code: "FORBIDDEN",
  message: "Insufficient access",
  requestId: expect.any(String),
  documentationUrl: expect.any(String),
};
const disabledError = {
  ...forbidden,
  issues: [
    { path: "", code: "workspace_disabled", message: "An operator of this instance disabled the workspace." },
  ],
};
/** The error of a procedure for a member. */
const blocked = { data: { code: "FORBIDDEN", issues: [{ code: "workspace_disabled" }] } };

/** Adds a keyspace with this many keys. Inserts their rows, because a call for each key would take long. */
async function addIssuedKeys({ scope: { workspaceId } }: Team, count: number): Promise<KeyspaceId> {
  const id = createId("keyspace");
  await sql`
    insert into keyspaces (workspace_id, id, name, prefix) values (${workspaceId}, ${id}, 'API', 'acme')`.execute(
    app.owner,
  );
  await sql`
    with added as (
      insert into issued_keys (workspace_id, keyspace_id, id, hash, start)
      select ${workspaceId}, ${id}, gen_random_uuid(), sha256(gen_random_uuid()::text::bytea), 'acme_'
      from generate_series(1, ${count}::integer) returning id
    )
    insert into key_counters (key_id) select id from added`.execute(app.owner);
  return id;
}

/** Adds a service account with a key. */
async function addServiceKey({ id: workspaceId, owner: { client } }: Team) {
  const account = { workspaceId, name: "Deploys", role: "member" } as const;
  const { userId } = await client.serviceAccounts.create.mutate(account);
  return await client.serviceAccounts.createKey.mutate({ workspaceId, userId, name: "Pipeline" });
}

test("the open API rejects the keys of members with a reason, and other keys without one", async () => {
  const team = await addTeam(app);
  const viewer = await join(app, team, "viewer");
  const stranger = await addPerson(app);
  await disable(team);
  for (const { secret } of [team.owner, viewer])
    expect(await call(secret, team.path)).toEqual({ status: 403, body: { error: disabledError } });
  const rename = { method: "PATCH", body: JSON.stringify({ name: "Renamed" }) };
  expect((await call(team.owner.secret, team.path, rename)).body.error).toEqual(disabledError);
  // Callers who would be rejected anyway don't learn that the workspace is disabled.
  expect((await call(viewer.secret, team.path, rename)).body.error).toEqual(forbidden);
  expect((await call(stranger.secret, team.path)).body.error).toEqual(forbidden);
  expect((await call(team.owner.secret, "/global/config")).status).toBe(200);
  await enable(team);
  expect((await call(viewer.secret, team.path)).status).toBe(200);
});

test("the open API rejects every request with a key of a service account, until the workspace is enabled", async () => {
  const team = await addTeam(app);
  const { id, key } = await addServiceKey(team);
  const rename = { method: "PATCH", body: JSON.stringify({ name: "Renamed" }) };
  const requests: readonly (readonly [path: string, init?: RequestInit])[] = [
    ["/me"],
    ["/workspaces"],
    ["/api-keys"],
    [`/api-keys/${id}`, rename],
    [`/api-keys/${id}/rotate`, { method: "POST", body: "{}" }],
  ];
  expect((await call(key, "/me")).status).toBe(200);
  await disable(team);
  for (const [path, init] of requests)
    expect(await call(key, path, init)).toEqual({ status: 403, body: { error: disabledError } });
  await enable(team);
  // No request changed anything.
  expect((await call(key, `/api-keys/${id}`)).body.name).toBe("Pipeline");
  for (const [path, init] of requests) expect((await call(key, path, init)).status).toBe(200);
});

test("a list of workspaces says which ones are disabled", async () => {
  const team = await addTeam(app);
  const other = await team.owner.client.workspaces.create.mutate({ name: "Other" });
  await disable(team);
  const states = (workspaces: readonly { readonly id: string; readonly isDisabled: boolean }[]) =>
    new Map(workspaces.map(({ id, isDisabled }) => [id, isDisabled]));
  const listed = states((await call(team.owner.secret, "/workspaces")).body.data);
  const own = states((await call(team.owner.secret, "/me")).body.workspaces);
  const session = await team.owner.client.session.current.query();
  for (const found of [listed, own, states(session?.workspaces ?? [])])
    expect([found.get(team.id), found.get(other.id)]).toEqual([true, false]);
  expect((await call(team.owner.secret, `/workspaces/${other.id}`)).body.isDisabled).toBe(false);
});

test("members can read and change nothing in the web app, and can't leave; other workspaces are not affected", async () => {
  const team = await addTeam(app);
  const member = await join(app, team, "member");
  const own = await member.client.workspaces.create.mutate({ name: "Own" });
  const workspaceId = team.id;
  await disable(team);
  for (const { client } of [team.owner, member]) {
    await expect(client.workspaces.get.query({ workspaceId })).rejects.toMatchObject(blocked);
    await expect(client.members.list.query({ workspaceId })).rejects.toMatchObject(blocked);
  }
  await expect(member.client.members.leave.mutate({ workspaceId })).rejects.toMatchObject(blocked);
  await expect(
    team.owner.client.workspaces.update.mutate({ workspaceId, name: "Renamed", version: 1 }),
  ).rejects.toMatchObject(blocked);
  await expect(team.owner.client.workspaces.delete.mutate({ workspaceId })).rejects.toMatchObject(blocked);
  expect((await member.client.workspaces.get.query({ workspaceId: own.id })).name).toBe("Own");
  await enable(team);
  expect((await member.client.workspaces.get.query({ workspaceId })).name).toBe("Team");
});

test("a change that was allowed before the workspace was disabled, and waits for its lock, is rejected", async () => {
  const team = await addTeam(app);
  const { scope } = team;
  const serviceKey = await addServiceKey(team);
  let changes: Promise<unknown>[] = [];
  await app.services.db.transaction().execute(async (trx) => {
    await setDisabled(trx, scope.workspaceId, { isDisabled: true, origin: commandOrigin });
    changes = [
      call(team.owner.secret, team.path, { method: "PATCH", body: JSON.stringify({ name: "Renamed" }) }),
      team.owner.client.workspaces.update.mutate({ workspaceId: team.id, name: "Renamed", version: 1 }).then(
        () => "renamed",
        ({ data }) => data.issues[0].code,
      ),
      call(serviceKey.key, `/api-keys/${serviceKey.id}/rotate`, { method: "POST", body: "{}" }),
    ];
    await expect.poll(() => countWaiting(app.owner)).toBe(3);
  });
  expect(await Promise.all(changes)).toEqual([
    { status: 403, body: { error: disabledError } },
    "workspace_disabled",
    { status: 403, body: { error: disabledError } },
  ]);
});

/** The number of written rows by table. */
async function readWritten(trx: Trx): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ table: string; count: number }>`
    select relname as table, (n_tup_ins + n_tup_upd + n_tup_del)::integer as count
    from pg_stat_xact_user_tables`.execute(trx);
  return new Map(rows.map(({ table, count }) => [table, count]));
}

test("disabling changes the row of the workspace and the versions of key owners, and no row of a key", async () => {
  const team = await addTeam(app);
  await join(app, team, "viewer");
  await addIssuedKeys(team, 2_000);
  await addIssuedKeys(team, 10);
  for (let count = 0; count < 20; count += 1) await app.addKey(team.owner.userId);
  const { workspaceId } = team.scope;
  for (const isDisabled of [true, false]) {
    const written = await app.services.db.transaction().execute(async (trx) => {
      // The statistics include what earlier transactions of the connection wrote in the last second.
      const before = await readWritten(trx);
      await setDisabled(trx, workspaceId, { isDisabled, origin: commandOrigin });
      const after = await readWritten(trx);
      const counts = [...after].map(([table, count]) => [table, count - (before.get(table) ?? 0)] as const);
      return Object.fromEntries(counts.filter(([, count]) => count > 0));
    });
    expect(written).toEqual({ workspaces: 1, owner_versions: 3, audit_events: 1, instance_events: 1 });
  }
});

test("both changes are recorded once in the audit log and once in the instance log, with the operator as the actor", async () => {
  const team = await addTeam(app);
  for (const change of [disable, disable, enable, enable]) await change(team);
  const { items } = await team.owner.client.audit.list.query({ workspaceId: team.id });
  const actor = { kind: "session", userId: encodeId("user", operator.userId) };
  expect(items.slice(0, 2)).toMatchObject([
    { action: "workspace.enabled", actor, target: { kind: "workspace", id: team.id }, address: null },
    { action: "workspace.disabled", actor, target: { kind: "workspace", id: team.id }, address: null },
  ]);
  expect(items[2]?.action).not.toMatch(/abled$/);
  const log = await operator.client.operator.log.query({ targetWorkspaceId: team.id });
  // Only operators see the IP address of an operator.
  const event = { actor: { userId: actor.userId }, workspace: { id: team.id }, address: "127.0.0.1" };
  expect(log.items).toMatchObject([
    { action: "workspace.enabled", ...event },
    { action: "workspace.disabled", ...event },
  ]);
});

test("operators see which workspaces are disabled, and what stops working", async () => {
  const team = await addTeam(app);
  await join(app, team, "viewer");
  const { client } = team.owner;
  await client.serviceAccounts.create.mutate({ workspaceId: team.id, name: "Deploys", role: "member" });
  await addIssuedKeys(team, 5);
  const reach = {
    id: team.id,
    name: "Team",
    memberCount: 2,
    serviceAccountCount: 1,
    apiKeyCount: 2,
    issuedKeyCount: 5,
  };
  for (const [change, isDisabled] of [
    [enable, false],
    [disable, true],
  ] as const) {
    await change(team);
    expect(await operator.client.operator.workspaceReach.query({ id: team.id })).toMatchObject({
      ...reach,
      isDisabled,
    });
    const { items } = await operator.client.operator.workspaces.query({ search: team.id });
    expect(items).toMatchObject([{ id: team.id, isDisabled }]);
  }
  const unknown = { id: encodeId("workspace", createId("workspace")) };
  const { operator: procedures } = operator.client;
  for (const call of [
    () => procedures.workspaceReach.query(unknown),
    () => procedures.disableWorkspace.mutate(unknown),
    () => procedures.enableWorkspace.mutate(unknown),
  ])
    await expect(call()).rejects.toMatchObject({ data: { code: "NOT_FOUND" } });
});

test("someone who is no longer an operator, or has not authenticated recently, can't disable or enable a workspace", async () => {
  const team = await addTeam(app);
  const by = (userId: Person["userId"], isRecentlyAuthenticated: boolean): Origin => ({
    actor: { kind: "session", userId, isRecentlyAuthenticated, isOperatorAction: true },
    address: null,
    requestId: null,
  });
  const { workspaceId } = team.scope;
  const former = await addPerson(app);
  const { db } = app.services;
  await db.transaction().execute((trx) => grantOperator(trx, former.userId, commandOrigin));
  await setDisabledDirectly(workspaceId, true, by(former.userId, true));
  await db.transaction().execute((trx) => revokeOperator(trx, former.userId, commandOrigin));
  const code = "FORBIDDEN";
  for (const isDisabled of [true, false])
    await expect(setDisabledDirectly(workspaceId, isDisabled, by(former.userId, true))).rejects.toMatchObject(
      { code, issues: undefined },
    );
  for (const isDisabled of [true, false])
    await expect(
      setDisabledDirectly(workspaceId, isDisabled, by(operator.userId, false)),
    ).rejects.toMatchObject({ code, issues: [{ code: "reauthentication_required" }] });
});

test("an invitation to a disabled workspace can't be seen or accepted until it is enabled", async () => {
  const team = await addTeam(app);
  const invitee = await addPerson(app);
  const email = (await invitee.client.session.current.query())?.user.email ?? "";
  const { url } = await team.owner.client.invitations.create.mutate({
    workspaceId: team.id,
    email,
    role: "member",
  });
  const token = new URL(url ?? "").hash.slice(1);
  await disable(team);
  const notYet = {
    ...blocked,
    message: expect.stringContaining("after an operator of this instance enables it"),
  };
  await expect(invitee.client.invitations.preview.mutate({ token })).rejects.toMatchObject(notYet);
  await expect(invitee.client.invitations.accept.mutate({ token })).rejects.toMatchObject(notYet);
  await enable(team);
  expect((await invitee.client.invitations.preview.mutate({ token })).workspaceName).toBe("Team");
});

test("only an operator can delete a disabled workspace, directly or with the account of its only member", async () => {
  const team = await addTeam(app);
  await disable(team);
  const { client } = team.owner;
  const email = (await client.session.current.query())?.user.email ?? "";
  await expect(client.account.delete.mutate({ email })).rejects.toMatchObject({
    data: { code: "CONFLICT" },
    message: expect.stringContaining("“Team” is disabled"),
  });
  await enable(team);
  await client.account.delete.mutate({ email });
});

test("the owner of a key learns why a request was rejected", async () => {
  const team = await addTeam(app);
  await disable(team);
  expect(
    await team.owner.client.keyHistory.tryOut.mutate({
      key: team.owner.secret,
      method: "GET",
      path: `/open${team.path}`,
    }),
  ).toMatchObject({
    status: 403,
    outcome: "workspace-disabled",
    explanation: "The workspace was disabled. An operator of this instance can enable it.",
  });
});

test("webhooks get no events of a disabled workspace, and pending messages fail", async () => {
  const team = await addTeam(app);
  const { client } = team.owner;
  const { workspaceId } = team.scope;
  await client.webhooks.create.mutate({ workspaceId: team.id, url: "https://hooks.example.com/" });
  const edit = { scope: team.scope, origin: commandOrigin };
  const rename = (name: string) =>
    app.services.db
      .transaction()
      .execute((trx) => update(trx, edit, { fields: { name }, versions: undefined }));
  await rename("Sent");
  await disable(team);
  await rename("Not sent");
  const readDeliveries = async () => {
    const { rows } = await sql<{ id: DeliveryId; action: string; status: string }>`
      select id, action, status from webhook_deliveries where workspace_id = ${workspaceId} order by id`.execute(
      app.owner,
    );
    return rows;
  };
  const pending = await readDeliveries();
  expect(pending).toMatchObject([
    { action: "webhook.created", status: "pending" },
    { action: "workspace.renamed", status: "pending" },
  ]);
  const prepare = (deliveryId: DeliveryId) =>
    prepareDelivery(
      app.services.db,
      { workspaceId, deliveryId },
      { secrets: app.services.webhookSecrets, acceptsSlow: true },
    );
  const [first, second] = pending.map(({ id }) => id) as [DeliveryId, DeliveryId]; // There are two.
  expect(await prepare(first)).toBeUndefined();
  await enable(team);
  expect(await prepare(second)).toMatchObject({ url: "https://hooks.example.com/" });
  expect((await readDeliveries()).map(({ action, status }) => [action, status])).toEqual([
    ["webhook.created", "failed"],
    ["workspace.renamed", "pending"],
    ["workspace.enabled", "pending"],
  ]);
});

test("nobody gets notices about the service accounts of a disabled workspace", async () => {
  const [team, other] = [await addTeam(app), await addTeam(app)];
  for (const { id, owner } of [team, other]) {
    const account = { workspaceId: id, name: "Deploys", role: "member" } as const;
    const { userId } = await owner.client.serviceAccounts.create.mutate(account);
    const key = await app.addKey(decodeId("user", userId) as UserId);
    await sql`
      update api_keys set created_at = now() - interval '30 days', expires_at = now() + interval '3 days'
      where id = ${key.id}`.execute(app.owner);
  }
  const countNotices = async ({ owner }: Team) => (await owner.client.notices.list.query({})).items.length;
  await disable(team);
  await findNotices(app.services.db);
  expect([await countNotices(team), await countNotices(other)]).toEqual([0, 1]);
  // Enabling doesn't create them later.
  await enable(team);
  await findNotices(app.services.db);
  expect([await countNotices(team), await countNotices(other)]).toEqual([0, 1]);
});
