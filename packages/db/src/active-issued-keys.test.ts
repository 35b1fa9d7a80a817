import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { countActiveKeys } from "./active-issued-keys.ts";
import { explainAll } from "./explain.test-kit.ts";
import { createId, type KeyspaceId } from "./ids.ts";
import { maxExaminedKeys } from "./keyspace-last-use.ts";
import { mintWorkspaceScope } from "./mint-workspace-scope.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { inWorkspace } from "./workspace-scope.ts";

let database: TestDatabase;
const workspaceId = createId("workspace");
const scope = mintWorkspaceScope(workspaceId);

beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

interface NewKeys {
  readonly count?: number;
  readonly createdAt?: string;
  readonly disabledAt?: string;
  readonly expiresAt?: string;
  readonly credits?: number;
  readonly refill?: object;
}

async function addKeys(
  keyspaceId: KeyspaceId,
  { count = 1, createdAt = "2026-01-01", disabledAt, expiresAt, credits, refill }: NewKeys = {},
): Promise<void> {
  await sql`
    with added as (
      insert into issued_keys (workspace_id, keyspace_id, id, hash, start, created_at, disabled_at, expires_at, refill)
      select ${workspaceId}, ${keyspaceId}, uuidv7(), sha256((${randomUUID()}::text || n)::bytea), 'acme_',
        ${createdAt}, ${disabledAt ?? null}, ${expiresAt ?? null}, ${refill ? JSON.stringify(refill) : null}
      from generate_series(1, ${count}::integer) n
      returning id
    )
    insert into key_counters (key_id, credits, credits_refilled_at)
    select id, ${credits ?? null}::bigint, ${credits === undefined ? null : "2026-01-01"}::timestamptz from added`.execute(
    database.owner,
  );
}

const count = (keyspaceId: KeyspaceId) =>
  inWorkspace(database.db, scope, (trx) => countActiveKeys(trx, scope, keyspaceId));

test("counts no key that is disabled, expired or out of credits, and none of another keyspace", async () => {
  const [keyspaceId, other] = [createId("keyspace"), createId("keyspace")];
  expect(await count(keyspaceId)).toBe(0);
  await addKeys(keyspaceId, { count: 2 });
  await addKeys(other);
  expect(await count(keyspaceId)).toBe(2);
  await addKeys(keyspaceId, { disabledAt: "2026-01-02" });
  await addKeys(keyspaceId, { expiresAt: "2026-01-02" });
  await addKeys(keyspaceId, { credits: 0 });
  expect(await count(keyspaceId)).toBe(2);
  await addKeys(keyspaceId, { expiresAt: "9999-01-01" });
  await addKeys(keyspaceId, { credits: 1 });
  await addKeys(keyspaceId, { credits: 0, refill: { interval: "daily", amount: 5 } });
  expect(await count(keyspaceId)).toBe(5);
});

test("counts the newest 10,000 keys, with indexes for them and their counters", async () => {
  const keyspaceId = createId("keyspace");
  await addKeys(keyspaceId, { count: maxExaminedKeys, disabledAt: "2026-01-02" });
  await addKeys(keyspaceId, { count: 3, createdAt: "2026-01-02" });
  await addKeys(keyspaceId, { count: 4, createdAt: "2025-01-01" });
  expect(await count(keyspaceId)).toBe(3);
  await sql`analyze`.execute(database.owner);
  const plan = await inWorkspace(database.db, scope, (trx) =>
    explainAll(trx, (recording) => countActiveKeys(recording, scope, keyspaceId)),
  );
  for (const index of ["issued_keys_listed", "key_counters_pkey"])
    expect(plan).toMatch(new RegExp(`(?:using|on) ${index}\\b`));
  expect(plan).not.toContain("Seq Scan");
  expect(plan).not.toContain("Sort");
});
