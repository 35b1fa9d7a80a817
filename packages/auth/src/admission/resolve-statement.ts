import type { KeyId, WorkspaceId } from "@latchkey/db/ids";
import type pg from "pg";
import type { KeyFacts } from "./decision.ts";
import { allIncrements, isCurrent, listAll } from "./increment-input.ts";
import { countWithinLimit, granted, type LimitOutcome, windowState } from "./limit-window.ts";
import { factsAsJson, keyOfSecret, type StoredFacts, toKeyFacts } from "./stored-facts.ts";
import type { UsageIncrement } from "./usage-increment.ts";

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
 * Resolves the keys that the counting statement did not count, and the keys that the node doesn't remember. Counts what
 * can be counted without waiting for locks, and looks up the rest.
 *
 * - `locked` takes the rows of which both versions are current, that have not expired, and that no other transaction locks.
 * - The result names the increments that were not counted. If both versions are current and the key has not expired, another
 *   transaction locks the row.
 * - It has the outcome of each rate limit that was counted.
 * - It marks the new secrets of the keys in `$12` as used. The mark is committed with the first use of the secret, so
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
      when counter.key_id = any($12::uuid[]) and ${granted} > 0 then false
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
      ...listAll(increments),
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
