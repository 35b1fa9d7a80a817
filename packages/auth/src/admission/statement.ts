import type { KeyId, UserId } from "@latchkey/db/ids";
import type pg from "pg";
import type { KeyFacts } from "./judge.ts";

/** The uses of one key in a batch, to be counted if its version is still this. */
export interface Ask {
  readonly keyId: KeyId;
  readonly uses: number;
  readonly version: number;
}

/** What the statement found wherever it did not simply count. */
export interface Findings {
  /** Asks that were not counted: with their facts as they are now, or undefined for a key that is gone. */
  readonly uncounted: ReadonlyMap<KeyId, KeyFacts | undefined>;
  /** The facts of the digests probed, by digest in base64; a digest that no key has is absent. */
  readonly probed: ReadonlyMap<string, KeyFacts>;
}

/** How the statement meets a row that another transaction has locked: it waits, or it leaves it uncounted. */
export type LockMode = "wait" | "skip";

/**
 * Counts a whole batch in one statement, which is one transaction: one row lock, one update and one WAL flush
 * for everything that waits. Only exceptions come back.
 *
 * - `asked` is the batch: a row a key, with its uses and the version that the node judged by.
 * - `locked` takes the rows whose version still holds, sorted by key: every statement that locks counters takes
 *   them in this order, so that two nodes cannot deadlock. If another transaction holds a row, Postgres waits
 *   and then looks at the version again, as it stands after that transaction.
 * - `counted` spends. Materialized `locked` is complete before the first row is updated.
 * - `wanted` names what the node must learn: the keys of probed digests, and the asks that were not counted.
 * - The last select reads their facts. All of it sees one snapshot, taken after the requests arrived, so that
 *   facts and version belong together. It always answers at least one row, which says how many were counted:
 *   the node compares, and an answer that does not add up admits nobody.
 */
export function statementText(mode: LockMode): string {
  return `
with asked as materialized (
  select * from unnest($1::uuid[], $2::integer[], $3::integer[]) as asked (key_id, uses, version)
),
locked as materialized (
  select counter.key_id, asked.uses
  from asked
  join key_counters counter on counter.key_id = asked.key_id
  where counter.version = asked.version
  order by counter.key_id
  for no key update of counter ${mode === "skip" ? "skip locked" : ""}
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
select total.counted, wanted.key_id, key.hash, key.user_id, counter.version,
  key.deleted_at is not null as is_deleted,
  account.disabled_at is not null as is_user_disabled
from (select count(*) as counted from counted) total
left join wanted on true
left join api_keys key on key.id = wanted.key_id
left join key_counters counter on counter.key_id = wanted.key_id
left join users account on account.id = key.user_id`;
}

const statements = {
  wait: { name: "admit-wait", text: statementText("wait") },
  skip: { name: "admit-skip", text: statementText("skip") },
} as const satisfies Record<LockMode, { name: string; text: string }>;

interface Row {
  readonly counted: number;
  readonly key_id: KeyId | null;
  readonly hash: Buffer | null;
  readonly user_id: UserId;
  readonly version: number | null;
  readonly is_deleted: boolean;
  readonly is_user_disabled: boolean;
}

/**
 * Session settings for the connection that runs the statement. The plan is made once, for any batch; without
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

/**
 * Runs the statement for one batch.
 *
 * @param probes digests in base64 of keys that the node knows nothing of.
 * @throws what the driver throws; an answer that does not add up is an Error.
 */
export async function runStatement(
  client: pg.Client,
  batch: { readonly asks: readonly Ask[]; readonly probes: readonly string[]; readonly mode: LockMode },
): Promise<Findings> {
  const { asks, probes } = batch;
  const { rows } = await client.query<Row>({
    ...statements[batch.mode],
    values: [
      asks.map((ask) => ask.keyId),
      asks.map((ask) => ask.uses),
      asks.map((ask) => ask.version),
      probes.map((digest) => Buffer.from(digest, "base64")),
    ],
  });
  const asked = new Set(asks.map((ask) => ask.keyId));
  const uncounted = new Map<KeyId, KeyFacts | undefined>();
  const probed = new Map<string, KeyFacts>();
  for (const row of rows) {
    if (row.key_id === null) continue;
    const facts = readFacts(row.key_id, row);
    if (asked.has(row.key_id)) uncounted.set(row.key_id, facts);
    if (facts && row.hash) probed.set(row.hash.toString("base64"), facts);
  }
  if (rows[0]?.counted !== asks.length - uncounted.size)
    throw new Error("The admission statement's answer does not add up.");
  return { uncounted, probed };
}

function readFacts(keyId: KeyId, row: Row): KeyFacts | undefined {
  if (row.version === null || row.hash === null) return undefined;
  return {
    keyId,
    userId: row.user_id,
    version: row.version,
    isDeleted: row.is_deleted,
    isUserDisabled: row.is_user_disabled,
  };
}
