import type pg from "pg";
import { toIntegerArray, toUuidArray } from "./array-parameter.ts";
import type { Counter, CounterId } from "./decide-verification.ts";
import type { OwnerVersion } from "./verifiable-key.ts";

/**
 * Counts the uses of a batch of keys without meters, in one statement, or fails with a serialization failure and counts nothing:
 * it succeeds only if everything that the node assumed when it decided the batch is true.
 *
 * - Uses of issued keys are counted in `issued_key_uses`, which has rows only of keys in use. So the statement reads fewer pages and
 *   a smaller index than in `key_counters` (figures in docs/decisions/0079).
 * - The version of each counted key is checked in its row. An update of a row that another transaction has changed waits for
 *   that transaction, and then checks the version again. A change of an issued key deletes its row.
 * - The versions of owners, and of keys without a use, are read in the snapshot, which was taken after the requests arrived. So
 *   it has every change that was acknowledged before them, and the rows need no lock.
 * - A key that has credits is not counted: setting a balance doesn't change the version of the key, so the version alone doesn't
 *   show that it has credits. Setting a balance deletes the row of an issued key.
 * - The database's time is one at which the batch would have been decided in the same way. It is read before the rows are locked:
 *   what the versions announce was true then, and still is when they are checked.
 * - The statement locks rows as it updates them. Its plan, a nested loop over the sorted keys (see the tests), updates them in the
 *   order of their keys, as every other statement that locks counters does, so that two nodes don't deadlock. Counters
 *   are updated before rows of issued keys, because the final `select` asks for their number first.
 */
const countText = `
with issued_key as materialized (
  select * from unnest($1::uuid[], $2::integer[], $3::integer[]) as input (key_id, version, uses)
  order by key_id
),
counted_issued_key as (
  update issued_key_uses counter
  set use_count = counter.use_count + input.uses,
      last_used_at = greatest(counter.last_used_at, clock_timestamp())
  from issued_key input
  where counter.key_id = input.key_id and counter.version = input.version
  returning counter.key_id
),
api_key as materialized (
  select * from unnest($4::uuid[], $5::integer[], $6::integer[]) as input (key_id, version, uses)
  order by key_id
),
counted_api_key as (
  update key_counters counter
  set use_count = counter.use_count + input.uses,
      last_used_at = greatest(counter.last_used_at, clock_timestamp())
  from api_key input
  where counter.key_id = input.key_id and counter.version = input.version and counter.credits is null
  returning counter.key_id
),
changed_key as materialized (
  select from unnest($7::uuid[], $8::integer[]) as checked (key_id, version)
  left join key_counters counter on counter.key_id = checked.key_id
  where counter.version is distinct from checked.version or counter.credits is not null
),
changed_owner as materialized (
  select from unnest($9::uuid[], $10::integer[]) as owner (id, version)
  left join owner_versions stored on stored.owner_id = owner.id
  where coalesce(stored.version, 0) <> owner.version
)
select case
  when (select count(*) from counted_api_key) = cardinality($4)
    and (select count(*) from counted_issued_key) = cardinality($1)
    and not exists (select from changed_key) and not exists (select from changed_owner)
    and clock.now >= $11::float8 and clock.now < $12::float8
  then clock.now
  else reject_outdated_batch()
end
from (select date_part('epoch', clock_timestamp()) * 1000 as now offset 0) clock`;

export interface CountedBatch {
  /** The keys with uses to count, and those that were only checked. */
  readonly counters: readonly Counter[];
  /** Those of `counters` that are API keys. The others are issued keys. */
  readonly apiKeys: ReadonlySet<CounterId>;
  readonly owners: readonly OwnerVersion[];
  /** When the decisions are valid, in milliseconds since the epoch. */
  readonly validity: { readonly from: number; readonly until: number };
}

/**
 * Adds rows for the uses of issued keys, whose counters are locked and have these versions. A row is added or deleted only while its
 * counter is locked, so each existing one is visible. `on conflict` would wait for another node that counts uses in the row, and that
 * node may wait for the caller's counter. `offset 0` keeps the planner from reading the whole table while it has few rows, because the
 * plan is kept when it has more.
 * @throws what the driver throws.
 */
export async function addUseRows(client: pg.Client, keys: readonly Counter[]): Promise<void> {
  await client.query({
    name: "verify-add-uses",
    text: `
      insert into issued_key_uses (key_id, version)
      select input.* from unnest($1::uuid[], $2::integer[]) as input (key_id, version)
      left join lateral (
        select true as is_known from issued_key_uses where key_id = input.key_id offset 0
      ) known on true
      where is_known is null`,
    values: listVersions(keys),
  });
}

/**
 * Counts uses, if everything is as assumed.
 * @returns the database's time, in milliseconds since the epoch.
 * @throws what the driver throws; a serialization failure if anything has changed.
 */
export async function countUses(
  client: pg.Client,
  { counters, apiKeys, owners, validity }: CountedBatch,
): Promise<number> {
  const used = counters.filter(({ uses }) => uses > 0);
  const usedIssuedKeys = used.filter(({ id }) => !apiKeys.has(id));
  const usedApiKeys = used.filter(({ id }) => apiKeys.has(id));
  const checked = counters.filter(({ uses }) => uses === 0);
  const { rows } = await client.query<[number]>({
    name: "verify-count",
    text: countText,
    values: [
      ...listUses(usedIssuedKeys),
      ...listUses(usedApiKeys),
      ...listVersions(checked),
      ...listVersions(owners),
      validity.from,
      validity.until,
    ],
    rowMode: "array",
  });
  const [row] = rows;
  if (!row) throw new Error("The statement returned no time.");
  return row[0];
}

function listUses(counters: readonly Counter[]): Buffer[] {
  return [...listVersions(counters), toIntegerArray(counters.map(({ uses }) => uses))];
}

function listVersions(items: readonly { readonly id: string; readonly version: number }[]): Buffer[] {
  return [toUuidArray(items.map(({ id }) => id)), toIntegerArray(items.map(({ version }) => version))];
}
