import type { KeyId } from "@latchkey/db/ids";
import type pg from "pg";
import { countOne } from "./count-one.ts";
import {
  allIncrements,
  incrementsWithExpiry,
  incrementsWithoutExpiry,
  isCurrent,
  isOwnerCurrent,
  listAll,
  listWithExpiry,
  listWithoutExpiry,
} from "./increment-input.ts";
import { countWithinLimit, type LimitOutcome, noLimitOutcomes, windowState } from "./limit-window.ts";
import type { CountResult, UsageIncrement } from "./usage-increment.ts";

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
  "and (input.valid_until is null or input.valid_until > clock_timestamp())",
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
    values: listAll(increments),
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
