import { randomBytes, randomUUID } from "node:crypto";
import { sql } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { insertApiKey } from "./api-key-changes.ts";
import { putPolicy } from "./api-key-policies.ts";
import { appendAudit } from "./audit-events.ts";
import { startupOptions } from "./connection.ts";
import { createId, type KeyId, type UserId, type WorkspaceId } from "./ids.ts";
import { insertInvitation } from "./invitations.ts";
import { defaultPolicy } from "./key-policy.ts";
import { insertMember, listMembers } from "./members.ts";
import { insertOwnershipTransfer } from "./ownership-transfers.ts";
import type { Db, Trx } from "./schema.ts";
import { openTestPool, testClientConfig } from "./testing/test-connection.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { insertUserWithPassword } from "./users.ts";
import { addDelivery } from "./webhook-deliveries.ts";
import { insertWebhook } from "./webhooks.ts";
import { blockKeys } from "./workspace-key-access.ts";
import { asUser, inWorkspace, type WorkspaceScope } from "./workspace-scope.ts";
import { findWorkspace, insertWorkspace, listMemberships } from "./workspaces.ts";
import { writeKeyspaceHistory } from "./write-keyspace-history.ts";

let database: TestDatabase;
let tenant: Tenant;
let otherTenant: Tenant;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  [tenant, otherTenant] = [await addTenant(), await addTenant()];
});
afterAll(() => database.drop());

interface Tenant {
  readonly userId: UserId;
  readonly scope: WorkspaceScope;
}

const origin = { actor: { kind: "command" }, address: null, requestId: null } as const;

async function addUser(trx: Trx): Promise<UserId> {
  const user = { email: `${randomUUID()}@example.com`, name: "Ada", passwordHash: "hash" };
  return (await insertUserWithPassword(trx, user)) as UserId; // No account has this email address.
}

async function addTenant(): Promise<Tenant> {
  return await database.db.transaction().execute(async (trx) => {
    const [userId, viewerId] = [await addUser(trx), await addUser(trx)];
    const workspace = { name: "Workspace", slug: randomUUID(), ownerId: userId };
    const made = await insertWorkspace(trx, workspace);
    const scope = made?.scope as WorkspaceScope; // No workspace has this slug.
    await appendAudit(trx as never, scope, origin, {
      action: "workspace.created",
      targetId: scope.workspaceId,
    });
    await insertMember(trx as never, scope, { userId: viewerId, role: "viewer" });
    const transfer = { from: userId, to: viewerId, lifetimeSeconds: 60 };
    await insertOwnershipTransfer(trx as never, scope, transfer);
    const invitation = {
      email: `${randomUUID()}@example.com`,
      role: "viewer",
      invitedBy: userId,
      isEmailed: false,
      lifetimeSeconds: 60,
    } as const;
    await insertInvitation(trx as never, scope, invitation);
    const webhookId = createId("webhook");
    const webhook = { url: "https://example.com", description: "", actions: null };
    await insertWebhook(trx as never, scope, { ...webhook, id: webhookId, secret: Buffer.from("sealed") });
    await addDelivery(trx as never, scope, { webhookId, eventId: null, action: "webhook.test" });
    await putPolicy(trx as never, scope, { ...defaultPolicy, isExpiryRequired: true });
    const key = { userId, name: "blocked", description: "", start: "lk_", hash: randomBytes(32) };
    const id = (await insertApiKey(trx, key)) as KeyId; // The user is not disabled.
    await blockKeys(trx as never, scope, { ids: [id], by: userId });
    await addKeyspaces(trx, scope);
    const { workspaceId } = scope;
    await sql`insert into deleted_webhooks (workspace_id, id) values (${workspaceId}, ${randomUUID()})`.execute(
      trx,
    );
    // What a trigger inserts when the workspace is deleted.
    await sql`insert into deleted_workspaces (workspace_id) values (${workspaceId})`.execute(trx);
    return { userId, scope };
  });
}

/** Adds a keyspace with a key of a consumer that was rotated, and one that was deleted. */
async function addKeyspaces(trx: Trx, { workspaceId }: WorkspaceScope): Promise<void> {
  const [id, deletedId, keyId, consumerId] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
  await sql`
    insert into keyspaces (workspace_id, id, name, prefix)
    select ${workspaceId}, unnest(array[${id}, ${deletedId}]::uuid[]), 'Production', 'sk_live'`.execute(trx);
  await sql`delete from keyspaces where id = ${deletedId}`.execute(trx);
  await sql`
    insert into consumers (workspace_id, keyspace_id, id, external_id)
    values (${workspaceId}, ${id}, ${consumerId}, 'customer')`.execute(trx);
  await sql`
    insert into issued_keys (workspace_id, keyspace_id, id, consumer_id, hash, start, permissions)
    values (${workspaceId}, ${id}, ${keyId}, ${consumerId}, ${randomBytes(32)}, 'sk_live_abcdef', '{documents.read}')`.execute(
    trx,
  );
  await sql`
    insert into retired_issued_secrets (hash, workspace_id, keyspace_id, key_id, start, good_until)
    values (${randomBytes(32)}, ${workspaceId}, ${id}, ${keyId}, 'sk_live_ghijkl', now())`.execute(trx);
}

const statistics = [
  "issued_key_rejections",
  "keyspace_tag_hours",
  "keyspace_usage_days",
  "keyspace_usage_hours",
  "workspace_key_days",
  "workspace_usage_hours",
] as const;

/** Adds a verification of an issued key, which is in all statistics of keyspaces. */
async function addVerification({ workspaceId }: WorkspaceScope): Promise<void> {
  const [keyspaceId, keyId] = [createId("keyspace"), createId("issuedKey")];
  const counted = {
    workspaceId,
    keyspaceId,
    hour: new Date("2026-03-02T12:00:00Z"),
    outcome: "VALID",
    count: 1,
  };
  const rejection = {
    id: createId("keyRejection"),
    occurredAt: counted.hour,
    code: "EXPIRED",
    requestId: "one",
  };
  await writeKeyspaceHistory(database.owner, {
    usage: [{ ...counted, keyId, consumerId: null }],
    tags: [{ ...counted, tag: "eu" }],
    rejections: [{ ...rejection, workspaceId, keyId, address: null }],
  });
}

/** Every table of tenant data, with the column that contains the workspace ID. */
const tables = [
  ["workspaces", "id"],
  ["members", "workspace_id"],
  ["audit_events", "workspace_id"],
  ["invitations", "workspace_id"],
  ["webhooks", "workspace_id"],
  ["webhook_deliveries", "workspace_id"],
  ["deleted_webhooks", "workspace_id"],
  ["deleted_workspaces", "workspace_id"],
  ["ownership_transfers", "workspace_id"],
  ["api_key_policies", "workspace_id"],
  ["workspace_key_access", "workspace_id"],
  ["keyspaces", "workspace_id"],
  ["deleted_keyspaces", "workspace_id"],
  ["consumers", "workspace_id"],
  ["issued_keys", "workspace_id"],
  ["issued_key_counts", "workspace_id"],
  ["issued_key_permissions", "workspace_id"],
  ["retired_issued_secrets", "workspace_id"],
] as const;

/** A change of each table, if one is granted, that names no row. */
const changes: Readonly<Partial<Record<(typeof tables)[number][0], string>>> = {
  workspaces: "version = 99",
  members: "version = 99",
  invitations: "role = 'owner'",
  webhooks: "version = 99",
  webhook_deliveries: "status = 'failed'",
  deleted_webhooks: "next_purge_at = now()",
  deleted_workspaces: "next_purge_at = now()",
  api_key_policies: "version = 99",
  workspace_key_access: "blocked_at = null",
  keyspaces: "version = 99",
  consumers: "version = 99",
  issued_keys: "version = 99",
  issued_key_counts: "key_count = 99",
  retired_issued_secrets: "good_until = now()",
};

test.each(tables)(
  "a query of %s without its condition sees only the rows of one tenant",
  async (table, column) => {
    const rows = await inWorkspace(database.db, tenant.scope, (trx) =>
      trx
        .selectFrom(table)
        .select(sql<string>`${sql.ref(column)}`.as("owner"))
        .execute(),
    );
    expect(new Set(rows.map(({ owner }) => owner))).toEqual(new Set([tenant.scope.workspaceId]));
  },
);

test.each(tables)(
  "a change of %s without its condition does not affect the rows of other tenants",
  async (table, column) => {
    const { workspaceId: foreign } = otherTenant.scope;
    const read = () =>
      database.owner
        .selectFrom(table)
        .select(sql<string>`${sql.ref(column)}`.as("owner"))
        .where(sql<boolean>`${sql.ref(column)} = ${foreign}`)
        .execute();
    const before = await read();
    expect(before).toContainEqual({ owner: foreign });
    await inWorkspace(database.db, tenant.scope, async (trx) => {
      const change = changes[table];
      if (change) await sql`update ${sql.table(table)} set ${sql.raw(change)}`.execute(trx);
      // As `deleteWorkspace` does, because a cascade can't delete keyspaces.
      if (table === "workspaces") await sql`delete from keyspaces`.execute(trx);
      // A workspace that exists has no record of its deletion.
      if (table === "workspaces") await sql`delete from deleted_workspaces`.execute(trx);
      await sql`delete from ${sql.table(table === "audit_events" ? "members" : table)}`.execute(trx);
      await sql`select 1`.execute(trx);
      throw new Rollback();
    }).catch(ignoreRollback);
    expect(await read()).toEqual(before);
  },
);

class Rollback extends Error {}

function ignoreRollback(error: unknown): void {
  if (!(error instanceof Rollback)) throw error;
}

test("a user sees the policies of their own workspaces, and what any workspace decided about their own keys", async () => {
  const read = (table: "api_key_policies" | "workspace_key_access") =>
    asUser(database.db, tenant.userId, (trx) => trx.selectFrom(table).select("workspace_id").execute());
  for (const table of ["api_key_policies", "workspace_key_access"] as const) {
    expect(await read(table)).toEqual([{ workspace_id: tenant.scope.workspaceId }]);
    const change = sql`delete from ${sql.table(table)}`;
    await asUser(database.db, tenant.userId, (trx) => change.execute(trx));
    expect(await read(table)).toHaveLength(1);
  }
});

test("audit events can't be changed", async () => {
  const change = sql`update audit_events set action = 'member.added'`;
  await expect(inWorkspace(database.db, tenant.scope, (trx) => change.execute(trx))).rejects.toThrow(
    "permission denied for table audit_events",
  );
});

test.each(tables)("no row of %s is visible without a named workspace", async (table) => {
  expect(await database.db.selectFrom(table).selectAll().execute()).toEqual([]);
});

test("compares the workspace of a row of key_usage_hours before it calls the function of another policy", async () => {
  const plan = sql<{ "QUERY PLAN": string }>`explain select from key_usage_hours where hour >= now()`;
  const { rows } = await inWorkspace(database.db, tenant.scope, (trx) => plan.execute(trx));
  const text = rows.map((row) => row["QUERY PLAN"]).join("\n");
  expect(text).toMatch(/Filter: \(\(workspace_id = .* OR is_own_key\(key_id\) OR /);
});

test("the named workspace or user applies only to its own transaction", async () => {
  const one = openTestPool(database.connection, { applicationName: "test", maxConnections: 1 });
  try {
    await inWorkspace(one, tenant.scope, (trx) => findWorkspace(trx, tenant.scope));
    expect(await one.selectFrom("members").selectAll().execute()).toEqual([]);
    await asUser(one, tenant.userId, (trx) =>
      listMemberships(trx, tenant.userId, { limit: 1, direction: "asc" }),
    );
    expect(await one.selectFrom("members").selectAll().execute()).toEqual([]);
  } finally {
    await one.destroy();
  }
});

test("no row can be inserted into or moved to a workspace other than the named one", async () => {
  const foreign = otherTenant.scope.workspaceId;
  const smuggled = inWorkspace(database.db, tenant.scope, (trx) =>
    trx
      .insertInto("members")
      .values({ workspace_id: foreign, user_id: tenant.userId, role: "owner" })
      .execute(),
  );
  await expect(smuggled).rejects.toThrow("violates row-level security policy");
  const moved = inWorkspace(database.db, tenant.scope, (trx) =>
    trx.updateTable("members").set({ workspace_id: foreign }).execute(),
  );
  await expect(moved).rejects.toThrow("violates row-level security policy");
  const written = inWorkspace(database.db, tenant.scope, (trx) =>
    appendAudit(trx, otherTenant.scope, origin, { action: "workspace.renamed", targetId: foreign }),
  );
  await expect(written).rejects.toThrow("doesn't exist");
  const inserted = inWorkspace(database.db, tenant.scope, (trx) =>
    sql`
      insert into audit_events (workspace_id, id, action, actor_kind, target_kind, target_id)
      values (${foreign}, ${foreign}, 'workspace.renamed', 'command', 'workspace', ${foreign})`.execute(trx),
  );
  await expect(inserted).rejects.toThrow("violates row-level security policy");
});

test("a user sees the workspaces that they are a member of, and no other member of them", async () => {
  const guest = await addTenant();
  await inWorkspace(database.db, tenant.scope, (trx) =>
    insertMember(trx, tenant.scope, { userId: guest.userId, role: "viewer" }),
  );
  await asUser(database.db, guest.userId, async (trx) => {
    const seen = await trx.selectFrom("workspaces").select("id").orderBy("id").execute();
    const own = [tenant.scope.workspaceId, guest.scope.workspaceId].sort();
    expect(seen.map(({ id }) => id)).toEqual(own);
    const members = await trx.selectFrom("members").select("user_id").execute();
    expect(new Set(members.map(({ user_id }) => user_id))).toEqual(new Set([guest.userId]));
    const { numUpdatedRows } = await trx.updateTable("members").set({ role: "owner" }).executeTakeFirst();
    expect(numUpdatedRows).toBe(0n);
  });
});

test("a query of key usage without its condition sees only one workspace, or only one user's keys", async () => {
  const hour = new Date("2026-03-02T12:00:00Z");
  const add = (key_id: KeyId, workspace_id: WorkspaceId | null) =>
    database.owner
      .insertInto("key_usage_hours")
      .values({ key_id, hour, workspace_id, outcome: "admitted", count: 1 })
      .execute();
  const key = { name: "key", description: "", start: "lk_abcdef" };
  const addKey = (userId: UserId) =>
    database.db
      .transaction()
      .execute((trx) => insertApiKey(trx, { ...key, userId, hash: randomBytes(32) })) as Promise<KeyId>; // The user is not disabled.
  const [tenantKey, otherTenantKey] = [await addKey(tenant.userId), await addKey(otherTenant.userId)];
  await add(tenantKey, tenant.scope.workspaceId);
  await add(tenantKey, otherTenant.scope.workspaceId);
  await add(tenantKey, null);
  await add(otherTenantKey, tenant.scope.workspaceId);
  await add(otherTenantKey, otherTenant.scope.workspaceId);
  const read = (trx: Db) =>
    trx.selectFrom("key_usage_hours").select(["key_id", "workspace_id"]).orderBy("key_id").execute();
  const inTenant = await inWorkspace(database.db, tenant.scope, read);
  expect(inTenant).toEqual([
    { key_id: tenantKey, workspace_id: tenant.scope.workspaceId },
    { key_id: otherTenantKey, workspace_id: tenant.scope.workspaceId },
  ]);
  const asMember = await asUser(database.db, tenant.userId, read);
  expect(new Set(asMember.map(({ key_id }) => key_id))).toEqual(new Set([tenantKey]));
  expect(asMember).toHaveLength(3);
});

test.each(statistics)(
  "a query of %s without its condition sees only one workspace, and changes none",
  async (table) => {
    for (const { scope } of [tenant, otherTenant]) await addVerification(scope);
    const read = (trx: Db) => trx.selectFrom(table).select("workspace_id").distinct().execute();
    for (const { scope } of [tenant, otherTenant])
      expect(await inWorkspace(database.db, scope, read)).toEqual([{ workspace_id: scope.workspaceId }]);
    expect(await asUser(database.db, tenant.userId, read)).toEqual([]);
    expect(await read(database.db)).toEqual([]);
    const remove = inWorkspace(database.db, tenant.scope, (trx) => trx.deleteFrom(table).execute());
    await expect(remove).rejects.toThrow(/permission denied/);
  },
);

test("every table with a workspace_id, and workspaces itself, has forced row-level security, a policy, and a policy for backups", async () => {
  const { rows } = await sql<{ name: string; isForced: boolean; policies: number; backups: number }>`
    select c.relname as name, c.relrowsecurity and c.relforcerowsecurity as "isForced",
      (select count(*) from pg_policy where polrelid = c.oid and polname = 'named_workspace') as policies,
      (select count(*) from pg_policy where polrelid = c.oid and polname = 'backup') as backups
    from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and (
      c.relname = 'workspaces'
      or exists (select from pg_attribute where attrelid = c.oid and attname = 'workspace_id' and not attisdropped)
    )
    order by 1`.execute(database.owner);
  expect(rows).toEqual(
    [...tables.map(([name]) => name), "key_usage_hours", ...statistics]
      .sort()
      .map((name) => ({ name, isForced: true, policies: 1, backups: 1 })),
  );
});

/**
 * Finds foreign keys between tables of tenant data that don't include the workspace, so that a row could refer to
 * another tenant's.
 */
async function findLooseKeys(db: Db): Promise<unknown[]> {
  const { rows } = await sql`
    select c.conrelid::regclass::text as source, c.conname as name from pg_constraint c
    where c.contype = 'f' and c.connamespace = 'public'::regnamespace
      and exists (select from pg_attribute where attrelid = c.conrelid and attname = 'workspace_id')
      and exists (select from pg_attribute where attrelid = c.confrelid and attname = 'workspace_id')
      and not exists (
        select from unnest(c.conkey, c.confkey) as pair (source, target)
        join pg_attribute s on s.attrelid = c.conrelid and s.attnum = pair.source and s.attname = 'workspace_id'
        join pg_attribute t on t.attrelid = c.confrelid and t.attnum = pair.target and t.attname = 'workspace_id'
      )`.execute(db);
  return rows;
}

test("no foreign key allows a row to refer to another tenant's row", async () => {
  expect(await findLooseKeys(database.owner)).toEqual([]);
  const rollback = database.owner.transaction().execute(async (trx) => {
    await sql`create table things (workspace_id uuid, id uuid unique, primary key (workspace_id, id))`.execute(
      trx,
    );
    await sql`create table good (workspace_id uuid, thing_id uuid,
      foreign key (workspace_id, thing_id) references things)`.execute(trx);
    await sql`create table bad (workspace_id uuid, thing_id uuid references things (id))`.execute(trx);
    expect(await findLooseKeys(trx)).toEqual([{ source: "bad", name: "bad_thing_id_fkey" }]);
    throw new Rollback();
  });
  await rollback.catch(ignoreRollback);
});

test("a connection has its role from the first statement", async () => {
  const { rows } = await sql`select current_user::text as name, session_user::text as login`.execute(
    database.db,
  );
  expect(rows).toEqual([{ name: "latchkey_tenant", login: database.connection.user }]);
});

test("the tenant role can neither count uses nor read the table of migrations", async () => {
  await expect(sql`update key_counters set use_count = 0`.execute(database.db)).rejects.toThrow(
    "permission denied",
  );
  await expect(sql`delete from key_counters`.execute(database.db)).rejects.toThrow("permission denied");
  await expect(sql`select from migrations`.execute(database.db)).rejects.toThrow("permission denied");
});

test("the admission role sees only the columns that decide about keys or that operators see, of all tenants, and can't change versions", async () => {
  const client = new pg.Client({
    ...testClientConfig(database.connection, "test"),
    options: startupOptions("latchkey_admission"),
  });
  await client.connect();
  try {
    const { rows } = await client.query<{ user_id: UserId }>(
      "select workspace_id, user_id, role from members",
    );
    expect(rows.map(({ user_id }) => user_id)).toEqual(
      expect.arrayContaining([tenant.userId, otherTenant.userId]),
    );
    // Operators see how many events each workspace has.
    const counts = await client.query<{ workspace_id: WorkspaceId }>(
      "select workspace_id, count(*) from audit_events group by 1",
    );
    expect(counts.rows.map(({ workspace_id }) => workspace_id)).toEqual(
      expect.arrayContaining([tenant.scope.workspaceId, otherTenant.scope.workspaceId]),
    );
    for (const rejected of [
      "select name from api_keys",
      "select email from users",
      "select description from workspaces",
      "select name from keyspaces",
      "update issued_keys set disabled_at = null",
      "select action from audit_events",
      "select * from audit_events",
      "delete from audit_events",
      "select checksum from migrations",
      "select from graphile_worker.jobs",
      "select from sessions",
      "select password from accounts",
      "update members set role = 'owner'",
      "update key_counters set version = 1",
      "update users set disabled_at = null",
    ])
      await expect(client.query(rejected), rejected).rejects.toThrow("permission denied");
  } finally {
    await client.end();
  }
});

test("code without a scope does not compile", () => {
  // Never called: the compiler checks it.
  const uncompiled = (): unknown => [
    // @ts-expect-error A workspace ID is not a scope.
    inWorkspace(database.db, { workspaceId: tenant.scope.workspaceId }, async () => undefined),
    // @ts-expect-error A plain transaction is not limited to a workspace.
    database.db.transaction().execute((trx) => findWorkspace(trx, tenant.scope)),
    // @ts-expect-error A query on tenant data requires a scope.
    inWorkspace(database.db, tenant.scope, (trx) => findWorkspace(trx)),
    // @ts-expect-error Even in a transaction of the workspace.
    inWorkspace(database.db, tenant.scope, (trx) => listMembers(trx, undefined, {})),
    // @ts-expect-error An audit event belongs to the transaction of its change.
    appendAudit(database.db, tenant.scope, origin, { action: "member.added", targetId: tenant.userId }),
  ];
  expect(uncompiled).toBeTypeOf("function");
});
