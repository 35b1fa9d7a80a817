import type { KeyId, UserId, WorkspaceId } from "@latchkey/db/ids";
import type pg from "pg";
import { countOne } from "./count-one.ts";
import type { KeyFacts } from "./decision.ts";
import {
  countWithinLimit,
  granted,
  incrementTimes,
  type LimitOutcome,
  noLimitOutcomes,
  windowState,
} from "./limit-window.ts";
import { factsAsJson, keyOfSecret, type StoredFacts, toKeyFacts } from "./stored-facts.ts";
import type { CountResult, UsageIncrement } from "./usage-increment.ts";

/** A key to look up, and the workspace in which its user's role is needed. */
export interface KeyLookup {
  /** In base64. */
  readonly digest: string;
  readonly workspaceId: WorkspaceId | undefined;
}

/**
 * Why a usage increment was not counted: another transaction locks the row of the key, or the facts by which its requests
 * were decided are no longer current.
 */
type Obstacle = "locked" | "outdated";

/** The result of the statement that resolves a batch. */
export interface Findings {
  readonly uncounted: ReadonlyMap<KeyId, Obstacle>;
  readonly limits: ReadonlyMap<KeyId, LimitOutcome>;
  /** The facts of each lookup, in the order of the lookups; undefined for a digest that no key has. */
  readonly found: readonly (KeyFacts | undefined)[];
}

/**
 * The positions of the owners whose version has changed. The snapshot of the statement is taken after its requests arrived,
 * so it has every change that was acknowledged before them, and the rows of owners need no lock.
 */
const changedOwners = `
changed_owner as materialized (
  select owner.position::integer
  from unnest($5::uuid[], $6::integer[]) with ordinality as owner (id, version, position)
  left join owner_versions stored on stored.owner_id = owner.id
  where coalesce(stored.version, 0) <> owner.version
)`;

/** Whether the version of the increment's owner is current. The array is built once per statement, and is almost always empty. */
const isOwnerCurrent = "input.owner <> all (array(select position from changed_owner))";

/**
 * The usage increments of keys without expiry and rate limit, ordered by key: a row per key, with its uses, the version of
 * the facts by which the node allowed them, and the position of its owner.
 */
const incrementsWithoutExpiry = `${changedOwners},
input as materialized (
  select * from unnest($1::uuid[], $2::integer[], $3::integer[], $4::integer[])
    as input (key_id, uses, version, owner)
  order by key_id
)`;

/** The same for keys that may expire. */
const incrementsWithExpiry = `${changedOwners},
input as materialized (
  select * from unnest($1::uuid[], $2::integer[], $3::integer[], $4::integer[], $7::timestamptz[])
    as input (key_id, uses, version, owner, good_until)
  order by key_id
)`;

/**
 * The same for any keys. The statement reads the clock once, after its requests arrived and before they are answered.
 */
const allIncrements = `
clock as materialized (select clock_timestamp() as now), ${changedOwners},
input as materialized (
  select key_id, uses, version, owner, good_until, quota, window_seconds, position, ${incrementTimes}
  from unnest(
      $1::uuid[], $2::integer[], $3::integer[], $4::integer[], $7::timestamptz[], $8::integer[], $9::integer[]
    ) with ordinality as input (key_id, uses, version, owner, good_until, quota, window_seconds, position), clock
  order by key_id
)`;

/** Whether an increment can be counted: both versions are current, and the key has not expired. */
const isCurrent = `counter.version = input.version and ${isOwnerCurrent}
    and (input.good_until is null or input.good_until > input.now)`;

/**
 * Counts a batch of remembered keys that neither expire nor have a rate limit in one statement, which is one transaction
 * and one WAL flush for all of them. Returns only the keys that it did not count, because their version or that of their
 * owner has changed, or their row was deleted.
 *
 * - An update of a row that another transaction has changed waits for that transaction and then checks the version again.
 * - The statement locks rows as it updates them. Its plan, a nested loop over `input` (see the tests), updates them in the
 *   order of their keys, as every other statement that locks counters does, so that two nodes don't deadlock. Locking all
 *   rows first would guarantee that order in SQL but costs a third more. If a planner chose another order, the lock timeout
 *   would abort the statement, which changes nothing.
 */
export const countText = composeCount(incrementsWithoutExpiry);

/** The same for a batch in which a key may expire: an expired key is not counted. */
export const countWithExpiryText = composeCount(
  incrementsWithExpiry,
  "and (input.good_until is null or input.good_until > clock_timestamp())",
);

function composeCount(increments: string, condition = ""): string {
  return `
with ${increments},
counted as (
  update key_counters counter
  set use_count = counter.use_count + input.uses,
      last_used_at = greatest(counter.last_used_at, clock_timestamp())
  from input
  where counter.key_id = input.key_id and counter.version = input.version and ${isOwnerCurrent} ${condition}
  returning counter.key_id
)
select key_id from input
where cardinality($1::uuid[]) > (select count(*) from counted) and key_id not in (select key_id from counted)`;
}

/**
 * The same for a batch in which a key has a rate limit. Returns one row, because a row per key would cost the node more
 * than the rest of the statement. It holds the positions of the keys that were not counted, and four numbers per rate
 * limit: position in the batch (from 1), uses granted, uses remaining, and seconds until the window resets.
 */
export const countWithLimitsText = `
with ${allIncrements},
counted as (
  update key_counters counter
  set ${countWithinLimit}
  from input
  where counter.key_id = input.key_id and ${isCurrent}
  returning input.position, input.quota, ${windowState}
)
select
  (select string_agg(concat_ws(',', position, granted, remaining, resets_in_seconds), ';')
    from counted where quota is not null) as counted,
  (select string_agg(position::text, ',') from input
    where cardinality($1::uuid[]) > (select count(*) from counted)
      and position not in (select position from counted)) as uncounted`;

/**
 * Resolves the keys that the counting statement did not count, and the keys that the node doesn't remember. Counts what
 * can be counted without waiting for locks, and looks up the rest.
 *
 * - `locked` takes the rows of which both versions are current, that have not expired, and that no other transaction locks.
 * - The result names the increments that were not counted. If both versions are current and the key has not expired, another
 *   transaction locks the row.
 * - It has the outcome of each rate limit that was counted.
 * - It marks the new secrets of the keys in `$12` as used. The mark is committed with the first use after a rotation, so
 *   that a used secret is never taken for an unused one. No other statement counts such a secret.
 * - It has the facts of each lookup, with the user's role in the workspace of the lookup. The whole statement sees one
 *   snapshot, taken after the requests arrived, so that facts and version match.
 */
export const resolveText = `
with ${allIncrements},
lookup as materialized (
  select * from unnest($10::bytea[], $11::uuid[]) with ordinality as lookup (hash, workspace_id, position)
),
locked as materialized (
  select input.*
  from input
  join key_counters counter on counter.key_id = input.key_id
  where ${isCurrent}
  order by counter.key_id
  for no key update of counter skip locked
),
counted as (
  update key_counters counter
  set ${countWithinLimit},
    has_unused_secret = case
      when counter.key_id = any($12::uuid[]) and ${granted} > 0 then null
      else counter.has_unused_secret end
  from locked input
  where counter.key_id = input.key_id
  returning input.key_id, input.quota, ${windowState}
)
select 'uncounted' as kind, null::bigint as position, input.key_id,
  to_json(case when ${isCurrent} then 'locked' else 'outdated' end) as detail
from input
left join key_counters counter on counter.key_id = input.key_id
where input.key_id not in (select key_id from counted)
union all
select 'limit', null, key_id,
  json_build_object('granted', granted, 'remaining', remaining, 'resetsInSeconds', resets_in_seconds)
from counted
where quota is not null
union all
select 'found', lookup.position, key.id, ${factsAsJson}
from lookup
join lateral (${keyOfSecret}) key on true
join key_counters counter on counter.key_id = key.id
join users account on account.id = key.user_id`;

interface ResolvedRow<Kind extends string, Detail> {
  readonly kind: Kind;
  readonly key_id: KeyId;
  readonly detail: Detail;
}

type Row =
  | ResolvedRow<"uncounted", Obstacle>
  | ResolvedRow<"limit", LimitOutcome>
  /** The position of the lookup counts from 1. */
  | (ResolvedRow<"found", StoredFacts> & { readonly position: number });

/**
 * Session settings of the connection that runs the statements. Plans are made once, for batches of any size. Without these
 * settings the planner could choose a full scan while a table is small and keep it after the table has grown. Lock waits
 * are short, so that one tenant's transaction doesn't delay other tenants.
 */
export const sessionSettings = [
  "plan_cache_mode=force_generic_plan",
  "enable_seqscan=off",
  "enable_hashjoin=off",
  "enable_mergejoin=off",
  "enable_memoize=off",
  "jit=off",
  "synchronous_commit=on",
  "lock_timeout=100",
  "statement_timeout=1400",
  // Ends the transaction of a node that stopped after it had locked counters.
  "idle_in_transaction_session_timeout=900",
] as const;

/** Counts a batch with the cheapest statement that fits it. @throws what the driver throws. */
export async function countUses(
  client: pg.Client,
  increments: readonly UsageIncrement[],
): Promise<CountResult> {
  const [first] = increments;
  if (first && increments.length === 1) return await countOne(client, first);
  if (increments.some(({ limit }) => limit !== null)) return await countLimitedUses(client, increments);
  const hasExpiries = increments.some(({ validUntil }) => validUntil !== null);
  const { rows } = await client.query<[KeyId]>({
    ...(hasExpiries
      ? { name: "admit-count-with-expiry", text: countWithExpiryText, values: listWithExpiry(increments) }
      : { name: "admit-count", text: countText, values: listWithoutExpiry(increments) }),
    rowMode: "array",
  });
  return { uncounted: rows.map(([keyId]) => keyId), limits: noLimitOutcomes };
}

async function countLimitedUses(
  client: pg.Client,
  increments: readonly UsageIncrement[],
): Promise<CountResult> {
  const { rows } = await client.query<[string | null, string | null]>({
    name: "admit-count-with-limits",
    text: countWithLimitsText,
    values: list(increments),
    rowMode: "array",
  });
  const [states, uncounted] = rows[0] ?? [];
  const keyAt = (place: number): KeyId => (increments[place - 1] as UsageIncrement).keyId; // Postgres returns positions of these increments.
  const limits = new Map<KeyId, LimitOutcome>();
  for (const state of states ? states.split(";") : []) {
    const [place = 0, granted = 0, remaining = 0, resetsInSeconds = 0] = readNumbers(state);
    limits.set(keyAt(place), { granted, remaining, resetsInSeconds });
  }
  return { uncounted: readNumbers(uncounted).map(keyAt), limits };
}

/** Parses the numbers that `string_agg` joined; null if there were none. */
function readNumbers(list: string | null | undefined): number[] {
  return list ? list.split(",").map(Number) : [];
}

/**
 * Runs {@link resolveText}.
 * @param firstUses the keys of increments whose secret was unused when it was looked up.
 * @throws what the driver throws.
 */
export async function resolveUses(
  client: pg.Client,
  {
    increments,
    lookups,
    firstUses,
  }: {
    readonly increments: readonly UsageIncrement[];
    readonly lookups: readonly KeyLookup[];
    readonly firstUses: readonly KeyId[];
  },
): Promise<Findings> {
  const { rows } = await client.query<Row>({
    name: "admit-resolve",
    text: resolveText,
    values: [
      ...list(increments),
      lookups.map(({ digest }) => Buffer.from(digest, "base64")),
      lookups.map(({ workspaceId }) => workspaceId ?? null),
      firstUses,
    ],
  });
  const uncounted = new Map<KeyId, Obstacle>();
  const limits = new Map<KeyId, LimitOutcome>();
  const found: (KeyFacts | undefined)[] = lookups.map(() => undefined);
  for (const row of rows) {
    const { kind, key_id: keyId, detail } = row;
    if (kind === "uncounted") uncounted.set(keyId, detail);
    else if (kind === "limit") limits.set(keyId, detail);
    else found[row.position - 1] = toKeyFacts(row.detail, lookups[row.position - 1]?.workspaceId);
  }
  return { uncounted, limits, found };
}

/** Array literals for Postgres. The driver would escape each element, and none of these needs escaping. */
function listWithoutExpiry(increments: readonly UsageIncrement[]): string[] {
  const owners = listOwners(increments);
  return [
    `{${increments.map(({ keyId }) => keyId).join()}}`,
    `{${increments.map(({ uses }) => uses).join()}}`,
    `{${increments.map(({ version }) => version).join()}}`,
    `{${owners.positions.join()}}`,
    `{${owners.ids.join()}}`,
    `{${owners.versions.join()}}`,
  ];
}

/**
 * The owners of keys, each once, because a batch often has many keys of an owner. If facts of one owner have two versions, it
 * is listed with each.
 */
function listOwners(increments: readonly UsageIncrement[]): {
  /** The position of the owner of each increment, from 1. */
  readonly positions: readonly number[];
  readonly ids: readonly UserId[];
  readonly versions: readonly number[];
} {
  const ids: UserId[] = [];
  const versions: number[] = [];
  const known = new Map<UserId, number>();
  const positions = increments.map(({ ownerId, ownerVersion }) => {
    const position = known.get(ownerId);
    if (position !== undefined && versions[position - 1] === ownerVersion) return position;
    versions.push(ownerVersion);
    known.set(ownerId, ids.push(ownerId));
    return ids.length;
  });
  return { positions, ids, versions };
}

function listWithExpiry(increments: readonly UsageIncrement[]): string[] {
  return [
    ...listWithoutExpiry(increments),
    `{${increments.map(({ validUntil }) => validUntil ?? "null").join()}}`,
  ];
}

function list(increments: readonly UsageIncrement[]): string[] {
  const hasExpiries = increments.some(({ validUntil }) => validUntil !== null);
  return [
    // `unnest` pads shorter arrays with nulls.
    ...(hasExpiries ? listWithExpiry(increments) : [...listWithoutExpiry(increments), "{}"]),
    `{${increments.map(({ limit }) => limit?.quota ?? "null").join()}}`,
    `{${increments.map(({ limit }) => limit?.windowSeconds ?? "null").join()}}`,
  ];
}
