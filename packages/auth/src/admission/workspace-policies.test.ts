import { randomUUID } from "node:crypto";
import { putPolicy } from "@latchkey/db/api-key-policies";
import type { UserId } from "@latchkey/db/ids";
import { bumpKeyVersions } from "@latchkey/db/key-counters";
import { type ApiKeyPolicy, defaultPolicy } from "@latchkey/db/key-policy";
import { listMembers, lockUsers } from "@latchkey/db/members";
import { bumpOwnerVersions } from "@latchkey/db/owner-versions";
import type { Db } from "@latchkey/db/schema";
import { openTestPool } from "@latchkey/db/testing/test-connection";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { blockKeys, unblockKeys } from "@latchkey/db/workspace-key-access";
import { inWorkspace, type WorkspaceScope } from "@latchkey/db/workspace-scope";
import { insertWorkspace } from "@latchkey/db/workspaces";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { inspectKey } from "../inspection.ts";
import { admissionKit, type TestKey } from "./admission.test-kit.ts";
import type { Admission } from "./admission.ts";

let database: TestDatabase;
let admissionDb: Db;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  admissionDb = openTestPool(database.connection, { role: "latchkey_admission", applicationName: "test" });
});
afterAll(async () => {
  await admissionDb.destroy();
  await database.drop();
});

const { openNode, addUser, addKey } = admissionKit(() => database);

/** A workspace, its owner, and a key of the owner. */
interface Scene {
  readonly scope: WorkspaceScope;
  readonly key: TestKey;
  /** Two nodes that have cached facts about the key. */
  readonly nodes: readonly Admission[];
}

async function addWorkspace(ownerId: UserId): Promise<WorkspaceScope> {
  const workspace = { name: "Workspace", slug: randomUUID(), ownerId };
  const made = await database.db.transaction().execute((trx) => insertWorkspace(trx, workspace));
  return made?.scope as WorkspaceScope; // No workspace has this slug.
}

async function begin(): Promise<Scene> {
  const userId = await addUser();
  const [scope, key] = [await addWorkspace(userId), await addKey(userId)];
  const nodes = [openNode(), openNode()];
  await expectEach({ scope, key, nodes }, "admitted");
  return { scope, key, nodes };
}

/** Replaces the policy as the product does. */
async function setPolicy(scope: WorkspaceScope, policy: Partial<ApiKeyPolicy>): Promise<void> {
  await inWorkspace(database.db, scope, async (trx) => {
    const page = { sort: "joinedAt", direction: "asc", limit: 10, filter: {} } as const;
    const userIds = (await listMembers(trx, scope, page)).map(({ userId }) => userId);
    await lockUsers(trx, userIds);
    await putPolicy(trx, scope, { ...defaultPolicy, ...policy });
    await bumpOwnerVersions(trx, userIds);
  });
}

async function setBlocked({ scope, key }: Scene, isBlocked: boolean): Promise<void> {
  await inWorkspace(database.db, scope, async (trx) => {
    if (isBlocked) await blockKeys(trx, scope, { ids: [key.id], by: key.userId });
    else await unblockKeys(trx, scope, [key.id]);
    await bumpKeyVersions(trx, { keyIds: [key.id] });
  });
}

/** Changes the key's row without incrementing its version. */
async function setColumns({ key }: Scene, columns: string): Promise<void> {
  await sql.raw(`update api_keys set ${columns} where id = '${key.id}'`).execute(database.owner);
}

async function bump({ key }: Scene): Promise<void> {
  await database.db.transaction().execute((trx) => bumpKeyVersions(trx, { keyId: key.id }));
}

/** Records a use in the workspace, as a node that the others don't know about does. */
async function recordUse({ scope, key }: Scene, hoursAgo: number): Promise<void> {
  await sql`
    insert into key_usage_hours (key_id, hour, workspace_id, outcome, count)
    values (${key.id}, date_trunc('hour', clock_timestamp()) - make_interval(hours => ${hoursAgo}),
      ${scope.workspaceId}, 'admitted', 1)`.execute(database.owner);
}

async function expectEach({ scope, key, nodes }: Scene, outcome: string): Promise<void> {
  const requirement = { workspaceId: scope.workspaceId, permission: "members:manage" } as const;
  for (const node of nodes) {
    const verdict = await node.admit(key.secret, requirement);
    expect(verdict.kind === "rejected" ? verdict.reason : verdict.kind).toBe(outcome);
    // Only the workspace rejects the key.
    expect(await node.admit(key.secret)).toMatchObject({ kind: "admitted" });
  }
  const inspected = await inspectKey(admissionDb, { keyId: key.id }, { requirement, address: undefined });
  expect(inspected?.decision).toEqual(
    outcome === "admitted" ? { kind: "allowed" } : { kind: "rejected", reason: outcome },
  );
}

test("a block and its end apply to the next request, on every node, in this workspace alone", async () => {
  const scene = await begin();
  const elsewhere = { ...scene, scope: await addWorkspace(scene.key.userId) };
  await setBlocked(scene, true);
  await expectEach(scene, "blocked");
  await expectEach(elsewhere, "admitted");
  await setBlocked(scene, false);
  await expectEach(scene, "admitted");
});

test("a required expiry applies to the next request, and to the next edit of a key", async () => {
  const scene = await begin();
  await setPolicy(scene.scope, { isExpiryRequired: true });
  await expectEach(scene, "policy");
  await setColumns(scene, "expires_at = clock_timestamp() + interval '1000 days'");
  await bump(scene);
  await expectEach(scene, "admitted");
  await setColumns(scene, "expires_at = null");
  await bump(scene);
  await expectEach(scene, "policy");
  await setPolicy(scene.scope, {});
  await expectEach(scene, "admitted");
});

test("required IP ranges apply to the next request", async () => {
  const scene = await begin();
  await setPolicy(scene.scope, { areIpRangesRequired: true });
  await expectEach(scene, "policy");
  await setColumns(scene, "ip_ranges = '{0.0.0.0/1}'");
  await bump(scene);
  const requirement = { workspaceId: scene.scope.workspaceId, permission: "members:manage" } as const;
  for (const node of scene.nodes) {
    expect(await node.admit(scene.key.secret, requirement, "10.0.0.1")).toMatchObject({ kind: "admitted" });
  }
});

test("a maximum lifetime counts from the creation or the last rotation to the expiry", async () => {
  const scene = await begin();
  await setPolicy(scene.scope, { maxLifetimeDays: 30 });
  await expectEach(scene, "policy");
  const expireAfter = async (interval: string) => {
    await setColumns(scene, `expires_at = created_at + interval '${interval}'`);
    await bump(scene);
  };
  await expireAfter("30 days");
  await expectEach(scene, "admitted");
  await expireAfter("30 days 2 hours");
  await expectEach(scene, "policy");
  await sql`
    insert into retired_secrets (hash, key_id, start, retired_at, good_until)
    values (sha256(${scene.key.id}::text::bytea), ${scene.key.id}, 'lk_', clock_timestamp() + interval '1 day', '-infinity')`.execute(
    database.owner,
  );
  await bump(scene);
  await expectEach(scene, "admitted");
  await expireAfter("32 days");
  await expectEach(scene, "policy");
});

test("a key that isn't used in a workspace becomes idle there, and works again after an admin allowed it", async () => {
  const scene = await begin();
  await setColumns(scene, "created_at = clock_timestamp() - interval '10 days'");
  await sql`update members set created_at = clock_timestamp() - interval '10 days'
    where user_id = ${scene.key.userId}`.execute(database.owner);
  await setPolicy(scene.scope, { maxIdleDays: 3 });
  await expectEach(scene, "policy");
  await setPolicy(scene.scope, { maxIdleDays: 11 });
  await expectEach(scene, "admitted");
  await setPolicy(scene.scope, { maxIdleDays: 3 });
  await expectEach(scene, "policy");
  await setBlocked(scene, true);
  await setBlocked(scene, false);
  await expectEach(scene, "admitted");
});

test("the idle time counts from the end of the hour of the last use in the workspace", async () => {
  const scene = await begin();
  await setColumns(scene, "created_at = clock_timestamp() - interval '10 days'");
  await sql`update members set created_at = clock_timestamp() - interval '10 days'
    where user_id = ${scene.key.userId}`.execute(database.owner);
  const elsewhere = { ...scene, scope: await addWorkspace(scene.key.userId) };
  await recordUse(elsewhere, 1);
  await recordUse(scene, 49);
  await setPolicy(scene.scope, { maxIdleDays: 2 });
  await expectEach(scene, "policy");
  await recordUse(scene, 48);
  // The nodes know that the key was idle, but not of the use that another node recorded.
  await expectEach(scene, "admitted");
});

test("a key that a node remembers as in use becomes idle by the database's clock, and then works again after a use elsewhere", async () => {
  const scene = await begin();
  await setColumns(scene, "created_at = clock_timestamp() - interval '10 days'");
  // The owner joined almost a day ago: the key becomes idle within seconds, which no version announces.
  await sql`update members set created_at = clock_timestamp() - interval '24 hours' + interval '4 seconds'
    where user_id = ${scene.key.userId}`.execute(database.owner);
  await setPolicy(scene.scope, { maxIdleDays: 1 });
  const requirement = { workspaceId: scene.scope.workspaceId, permission: "members:manage" } as const;
  const admitEach = async () =>
    await Promise.all(scene.nodes.map((node) => node.admit(scene.key.secret, requirement)));
  const kinds = (verdicts: readonly { readonly kind: string }[]) => verdicts.map(({ kind }) => kind);
  const first = await admitEach();
  // Read after the requests: on a busy machine, the four seconds may have passed before them.
  const { rows } = await sql<{ isEarly: boolean }>`
    select clock_timestamp() < created_at + interval '24 hours' as "isEarly" from members
    where user_id = ${scene.key.userId}`.execute(database.owner);
  if (rows[0]?.isEarly) expect(kinds(first)).toEqual(["admitted", "admitted"]);
  await expect.poll(async () => kinds(await admitEach())).toEqual(["rejected", "rejected"]);
  await expectEach(scene, "policy");
  await recordUse(scene, 0);
  await expectEach(scene, "admitted");
});
