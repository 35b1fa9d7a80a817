import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { createId, type KeyspaceId } from "./ids.ts";
import { listExpiringIssuedKeys, listUnusedIssuedKeys, maxExaminedKeys } from "./issued-key-attention.ts";
import { mintWorkspaceScope } from "./mint-workspace-scope.ts";
import { countReads } from "./testing/count-reads.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { inWorkspace, type WorkspaceTrx } from "./workspace-scope.ts";

// The issued keys that expire soon, and those that are unused.

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

const workspaceId = createId("workspace");
const scope = mintWorkspaceScope(workspaceId);

function read<Result>(work: (trx: WorkspaceTrx) => Promise<Result>): Promise<Result> {
  return inWorkspace(database.db, scope, work);
}

/** Times in days from now; null for never. */
interface NewKey {
  readonly name: string;
  readonly created?: number;
  readonly expires?: number;
  readonly isDisabled?: boolean;
  readonly used?: number;
  /** When its row of `issued_key_uses` was last used; without, there is none. */
  readonly usedInRow?: number;
}

async function addKeys(
  keyspaceId: KeyspaceId,
  keys: readonly NewKey[],
  workspace = workspaceId,
): Promise<void> {
  for (const { name, created = 0, expires = null, isDisabled = false, used = null, usedInRow } of keys) {
    const id = createId("issuedKey");
    await sql`
      insert into issued_keys
        (workspace_id, keyspace_id, id, hash, start, name, created_at, expires_at, disabled_at)
      values (${workspace}, ${keyspaceId}, ${id}, sha256(${id}::text::bytea), 'sk_live_abc', ${name},
        now() + make_interval(days => ${created}), now() + make_interval(days => ${expires}),
        case when ${isDisabled}::boolean then now() end)`.execute(database.owner);
    await sql`
      insert into key_counters (key_id, last_used_at)
      values (${id}, now() + make_interval(days => ${used}))`.execute(database.owner);
    if (usedInRow !== undefined)
      await sql`
        insert into issued_key_uses (key_id, version, last_used_at)
        values (${id}, 1, now() + make_interval(days => ${usedInRow}))`.execute(database.owner);
  }
}

const namesOf = ({ items }: { readonly items: readonly { readonly name: string }[] }) =>
  items.map(({ name }) => name);

test("lists the enabled keys that expire within 30 days, the next one first", async () => {
  const [one, other, foreign] = [createId("keyspace"), createId("keyspace"), createId("keyspace")];
  await addKeys(one, [
    { name: "in 20 days", expires: 20 },
    { name: "in 31 days", expires: 31 },
    { name: "never" },
    { name: "expired", expires: -1 },
    { name: "disabled", expires: 1, isDisabled: true },
  ]);
  await addKeys(other, [
    { name: "tomorrow", expires: 1 },
    { name: "in 29 days", expires: 29 },
  ]);
  await addKeys(foreign, [{ name: "foreign", expires: 2 }], createId("workspace"));
  const list = (keyspaceIds: readonly KeyspaceId[], limit = 5) =>
    read((trx) => listExpiringIssuedKeys(trx, scope, { keyspaceIds, limit }));
  const all = await list([one, other, foreign]);
  expect(namesOf(all)).toEqual(["tomorrow", "in 20 days", "in 29 days"]);
  expect(all).toMatchObject({ total: 3, isPartial: false });
  expect(all.items[0]).toMatchObject({ keyspaceId: other, start: "sk_live_abc", lastUsedAt: null });
  expect(await list([one, other], 1)).toMatchObject({ items: [{ name: "tomorrow" }], total: 3 });
  expect(await list([])).toEqual({ items: [], total: 0, isPartial: false });
});

test("lists the valid keys that were not used for 30 days, the oldest first", async () => {
  const [one, other] = [createId("keyspace"), createId("keyspace")];
  await addKeys(one, [
    { name: "used long ago", created: -90, used: -31 },
    { name: "used recently", created: -90, used: -29 },
    { name: "used long ago, twice", created: -80, used: -50, usedInRow: -31 },
    { name: "used again", created: -90, used: -31, usedInRow: -29 },
    { name: "used otherwise", created: -90, used: -29, usedInRow: -31 },
    { name: "new", created: -29 },
    { name: "disabled", created: -90, isDisabled: true },
    { name: "expired", created: -90, expires: -1 },
    { name: "expires later", created: -40, expires: 1 },
  ]);
  await addKeys(other, [{ name: "never used", created: -100 }]);
  const list = await read((trx) => listUnusedIssuedKeys(trx, scope, { keyspaceIds: [one, other], limit: 5 }));
  expect(namesOf(list)).toEqual(["never used", "used long ago", "used long ago, twice", "expires later"]);
  expect(list).toMatchObject({ total: 4, isPartial: false });
  const daysAgo = ({ lastUsedAt }: { readonly lastUsedAt: Date | null }) =>
    lastUsedAt && Math.round((Date.now() - lastUsedAt.getTime()) / 86_400_000);
  expect(list.items.map(daysAgo)).toEqual([null, 31, 31, null]);
});

test("examines few of many keys, by indexes, and says that there are more", async () => {
  const [large, small] = [createId("keyspace"), createId("keyspace")];
  const count = maxExaminedKeys.expiring + 2_000;
  await sql`
    insert into issued_keys
      (workspace_id, keyspace_id, id, hash, start, name, created_at, expires_at, disabled_at)
    select ${workspaceId}, ${large}, gen_random_uuid(), sha256(n::text::bytea), '', 'Key ' || n,
      now() - interval '90 days' + n * interval '1 second', now() + n * interval '1 second',
      case when n <= ${count - 5} then now() end
    from generate_series(1, ${count}::integer) n`.execute(database.owner);
  await sql`
    insert into key_counters (key_id, last_used_at)
    select id, case when name = 'Key ' || ${count}::integer then now() end
    from issued_keys where keyspace_id = ${large}`.execute(database.owner);
  await addKeys(small, [{ name: "in a small keyspace", created: -40, expires: 10 }]);
  await sql`analyze issued_keys, key_counters`.execute(database.owner);
  const query = { keyspaceIds: [large, small], limit: 5 };
  for (const [list, maxExamined] of [
    [listExpiringIssuedKeys, maxExaminedKeys.expiring],
    [listUnusedIssuedKeys, maxExaminedKeys.unused],
  ] as const) {
    const {
      result: found,
      scans,
      rows,
    } = await read((trx) => countReads(trx, ["issued_keys", "key_counters"], () => list(trx, scope, query)));
    // The keys before it in the large keyspace are disabled, so the enabled ones are not reached.
    expect(namesOf(found)).toEqual(["in a small keyspace"]);
    expect(found).toMatchObject({ total: 1, isPartial: true });
    expect(scans).toBe(0);
    expect(rows).toBeGreaterThan(0);
    // Half of the keys are those of the large keyspace, each with its counter at most.
    expect(rows).toBeLessThanOrEqual(maxExamined + 100);
  }
  const alone = await read((trx) => listExpiringIssuedKeys(trx, scope, { ...query, keyspaceIds: [small] }));
  expect(alone).toMatchObject({ total: 1, isPartial: false });
});
