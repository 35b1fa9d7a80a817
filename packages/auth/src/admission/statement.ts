import type { KeyId, UserId } from "@latchkey/db/ids";
import type pg from "pg";
import type { KeyFacts } from "./judge.ts";

/** The uses of one key in a batch, to be counted if its version is still this. */
export interface Ask {
  readonly keyId: KeyId;
  readonly uses: number;
  readonly version: number;
}

/** What a batch met beside what it counted. */
export interface Findings {
  /** Asks that were not counted: with their facts as they are now, or undefined for a key that is gone. */
  readonly uncounted: ReadonlyMap<KeyId, KeyFacts | undefined>;
  /** The facts of the digests probed, by digest in base64; a digest that no key has is absent. */
  readonly probed: ReadonlyMap<string, KeyFacts>;
}

/** The batch, in the order of its keys: a row a key, with its uses and the version that the node judged by. */
const asked = `
asked as materialized (
  select * from unnest($1::uuid[], $2::integer[], $3::integer[]) as asked (key_id, uses, version)
  order by key_id
)`;

/**
 * Counts a batch of remembered keys in one statement, which is one transaction and one WAL flush for all. Answers
 * only the exceptions: the keys that it did not count, because their version has moved or their row is gone.
 *
 * - The update meets a row that another transaction has changed by waiting for it, and then looks at the version
 *   again, as it stands after that transaction.
 * - It locks rows as it goes. The plan (a nested loop over `asked`, see the tests) takes them in the order of their
 *   keys, as everything does that locks counters, so that two nodes do not deadlock. To lock them all beforehand
 *   would promise the order in SQL itself and cost a third more; if a planner ever took another one, Postgres would
 *   break the deadlock, and that is an abort that certainly changed nothing.
 */
export const countText = `
with ${asked},
counted as (
  update key_counters counter
  set use_count = counter.use_count + asked.uses,
      last_used_at = greatest(counter.last_used_at, clock_timestamp())
  from asked
  where counter.key_id = asked.key_id and counter.version = asked.version
  returning counter.key_id
)
select key_id from asked where key_id not in (select key_id from counted)`;

/**
 * For all that the first statement cannot settle: keys that the node knows nothing of, and keys that were not
 * counted. Counts what can be counted without waiting for anybody, and reads the facts of the rest.
 *
 * - `locked` takes the rows whose version still holds and that nobody else has.
 * - `wanted` names what the node must learn: the keys of probed digests, and the asks that were not counted.
 * - The last select reads their facts. All of it sees one snapshot, taken after the requests arrived, so that facts
 *   and version belong together. A key whose version still holds and that was not counted is locked by another.
 */
export const resolveText = `
with ${asked},
locked as materialized (
  select counter.key_id, asked.uses
  from asked
  join key_counters counter on counter.key_id = asked.key_id
  where counter.version = asked.version
  order by counter.key_id
  for no key update of counter skip locked
),
counted as (
  update key_counters counter
  set use_count = counter.use_count + locked.uses,
      last_used_at = greatest(counter.last_used_at, clock_timestamp())
  from locked
  where counter.key_id = locked.key_id
  returning counter.key_id
),
wanted as (
  select key_id from asked where key_id not in (select key_id from counted)
  union all
  select id from api_keys where hash = any ($4::bytea[])
)
select wanted.key_id, key.hash, key.user_id, counter.version,
  key.deleted_at is not null as is_deleted,
  account.disabled_at is not null as is_user_disabled
from wanted
left join api_keys key on key.id = wanted.key_id
left join key_counters counter on counter.key_id = wanted.key_id
left join users account on account.id = key.user_id`;

interface FactsRow {
  readonly key_id: KeyId;
  readonly hash: Buffer | null;
  readonly user_id: UserId;
  readonly version: number | null;
  readonly is_deleted: boolean;
  readonly is_user_disabled: boolean;
}

/**
 * Session settings for the connection that runs the statements. Their plans are made once, for any batch; without
 * these the planner would choose by the size the table happens to have, and a full scan chosen while it is
 * small would stay when it is large. Lock waits end early, so that one tenant's transaction holds up nobody.
 */
export const sessionSettings = [
  "plan_cache_mode=force_generic_plan",
  "enable_seqscan=off",
  "enable_hashjoin=off",
  "enable_mergejoin=off",
  "jit=off",
  "synchronous_commit=on",
  "lock_timeout=100",
  "statement_timeout=1400",
] as const;

/** Runs {@link countText}; answers the keys that were not counted. @throws what the driver throws. */
export async function countUses(client: pg.Client, asks: readonly Ask[]): Promise<readonly KeyId[]> {
  const { rows } = await client.query<[KeyId]>({
    name: "admit-count",
    text: countText,
    values: toArrays(asks),
    rowMode: "array",
  });
  return rows.map(([keyId]) => keyId);
}

/**
 * Runs {@link resolveText}.
 *
 * @param probes digests in base64 of keys that the node knows nothing of.
 * @throws what the driver throws.
 */
export async function resolveUses(
  client: pg.Client,
  asks: readonly Ask[],
  probes: readonly string[],
): Promise<Findings> {
  const { rows } = await client.query<FactsRow>({
    name: "admit-resolve",
    text: resolveText,
    values: [...toArrays(asks), probes.map((digest) => Buffer.from(digest, "base64"))],
  });
  const asked = new Set(asks.map(({ keyId }) => keyId));
  const uncounted = new Map<KeyId, KeyFacts | undefined>();
  const probed = new Map<string, KeyFacts>();
  for (const row of rows) {
    const facts = readFacts(row);
    if (asked.has(row.key_id)) uncounted.set(row.key_id, facts);
    if (facts && row.hash) probed.set(row.hash.toString("base64"), facts);
  }
  return { uncounted, probed };
}

/** Postgres's own notation, joined at once: the driver would escape each element, and none of these needs it. */
function toArrays(asks: readonly Ask[]): [keyIds: string, uses: string, versions: string] {
  return [
    `{${asks.map(({ keyId }) => keyId).join()}}`,
    `{${asks.map(({ uses }) => uses).join()}}`,
    `{${asks.map(({ version }) => version).join()}}`,
  ];
}

function readFacts(row: FactsRow): KeyFacts | undefined {
  if (row.version === null || row.hash === null) return undefined;
  return {
    keyId: row.key_id,
    userId: row.user_id,
    version: row.version,
    isDeleted: row.is_deleted,
    isUserDisabled: row.is_user_disabled,
  };
}
