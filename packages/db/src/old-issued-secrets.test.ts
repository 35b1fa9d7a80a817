import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { IssuedKeyId } from "./ids.ts";
import { replaceUnusedIssuedSecrets, rotateIssuedKeys } from "./issued-key-secrets.ts";
import { addKeyspace, addWorkspace } from "./issued-keys.test-kit.ts";
import { bumpKeyVersions } from "./key-counters.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { inWorkspace, type WorkspaceScope, type WorkspaceTrx } from "./workspace-scope.ts";

// Old secrets of issued keys. Postgres updates its statistics once per minute at most. Until then, it expects one old secret of keys that the statistics don't contain.

const keyCount = 300;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  await sql`alter table retired_issued_secrets set (autovacuum_enabled = off)`.execute(database.owner);
});
afterAll(() => database.drop());

/** Adds keys in a new workspace. */
async function addKeys(keyCount: number) {
  const scope = await addWorkspace(database.db);
  const keyspaceId = await addKeyspace(database.db, scope);
  const { rows } = await inWorkspace(database.db, scope, (trx) =>
    sql<{ id: IssuedKeyId }>`
      insert into issued_keys (workspace_id, keyspace_id, id, hash, start)
      select ${scope.workspaceId}, ${keyspaceId}, gen_random_uuid(), sha256(gen_random_uuid()::text::bytea), 'sk_'
      from generate_series(1, ${keyCount}::integer)
      returning id`.execute(trx),
  );
  const ids = rows.map(({ id }) => id);
  await sql`insert into key_counters (key_id) select unnest(${ids}::uuid[])`.execute(database.owner);
  return { scope, ids };
}

function createSecrets(ids: readonly IssuedKeyId[]) {
  return ids.map((id) => ({ id, start: "sk_", hash: randomBytes(32) }));
}

/** How many rows of old secrets a transaction has read so far, and earlier ones whose statistics Postgres hasn't written yet. */
async function countReads(trx: WorkspaceTrx): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select seq_tup_read + idx_tup_fetch as count from pg_stat_xact_user_tables
    where relid = 'retired_issued_secrets'::regclass`.execute(trx);
  return rows[0]?.count ?? Number.NaN;
}

/** Changes secrets. Returns how many rows of old secrets the change read, for each that is stored. */
async function measureReads(
  scope: WorkspaceScope,
  change: (trx: WorkspaceTrx) => Promise<unknown>,
): Promise<number> {
  return await inWorkspace(database.db, scope, async (trx) => {
    const before = await countReads(trx);
    await change(trx);
    const reads = (await countReads(trx)) - before;
    const { rows } = await sql<{ stored: number }>`
      select count(*) as stored from retired_issued_secrets`.execute(trx);
    return reads / (rows[0]?.stored ?? Number.NaN);
  });
}

test("a rotation reads each old secret only a few times, even if Postgres has statistics only for a few other keys", async () => {
  const others = await addKeys(3);
  for (let rotation = 1; rotation <= 20; rotation += 1)
    await rotate(others.scope, createSecrets(others.ids), 0);
  await sql`analyze retired_issued_secrets`.execute(database.owner);
  await sql`truncate retired_issued_secrets`.execute(database.owner);
  const { scope, ids } = await addKeys(keyCount);
  const reads: number[] = [];
  let issued = createSecrets(ids);
  for (let rotation = 1; rotation <= 6; rotation += 1) {
    issued = createSecrets(ids);
    reads.push(await rotate(scope, issued, rotation % 3 === 0 ? 0 : 3_600));
  }
  const reissued = createSecrets(ids).map((secret, index) => ({
    ...secret,
    issuedHash: issued[index]?.hash ?? Buffer.of(),
  }));
  reads.push(await measureReads(scope, (trx) => replaceUnusedIssuedSecrets(trx, scope, reissued)));
  console.info(`reads per old secret: ${reads.map((count) => count.toFixed(1)).join(", ")}`);
  expect(Math.max(...reads)).toBeLessThan(10);
});

async function rotate(
  scope: WorkspaceScope,
  secrets: ReturnType<typeof createSecrets>,
  overlapSeconds: number,
) {
  return await measureReads(scope, async (trx) => {
    await rotateIssuedKeys(trx, scope, secrets, overlapSeconds);
    await bumpKeyVersions(trx, { keyIds: secrets.map(({ id }) => id), hasNewSecret: true });
  });
}

test("a rotation revokes old secrets whose overlap has ended, and deletes those beyond 20 per key", async () => {
  const { scope, ids } = await addKeys(1);
  for (let rotation = 1; rotation <= 22; rotation += 1) {
    await sql`
      update retired_issued_secrets set good_until = now()
      where key_id = any(${ids}::uuid[]) and good_until > now()`.execute(database.owner);
    await rotate(scope, createSecrets(ids), 3_600);
  }
  const { rows } = await sql`
    select count(*)::integer as stored, count(*) filter (where good_until = '-infinity')::integer as revoked
    from retired_issued_secrets where key_id = any(${ids}::uuid[])`.execute(database.owner);
  expect(rows).toEqual([{ stored: 20, revoked: 19 }]);
});
