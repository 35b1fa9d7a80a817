import type pg from "pg";
import type { Ask, Counted } from "./ask.ts";
import { nothingSpent, type Spent, spend, windowState } from "./spend.ts";

/**
 * Counts the uses of one key without a limit, where its version still holds and it is not over. It does to its row what
 * the texts for batches of several do to each, without a list to unfold, to sort and to compare with what was counted.
 */
export const countOneText = `
update key_counters counter
set use_count = counter.use_count + $2::integer,
    last_used_at = greatest(counter.last_used_at, clock_timestamp())
where counter.key_id = $1::uuid and counter.version = $3::integer
  and ($4::timestamptz is null or $4::timestamptz > clock_timestamp())`;

/** The same for a key with a limit: answers how that stands. All of it goes by one instant. */
export const spendOneText = `
update key_counters counter
set ${spend}
from (
  select $1::uuid as key_id, $2::integer as uses, $3::integer as version, $4::timestamptz as good_until,
    $5::integer as quota, $6::integer * interval '1 second' as length, clock_timestamp() as now
) asked
where counter.key_id = asked.key_id and counter.version = asked.version
  and (asked.good_until is null or asked.good_until > asked.now)
returning ${windowState}`;

/** Counts a batch of one key, which is what a busy key makes for itself. @throws what the driver throws. */
export async function countOne(client: pg.Client, ask: Ask): Promise<Counted> {
  const { keyId, uses, version, goodUntil, limit } = ask;
  const values = [keyId, uses, version, goodUntil];
  const { rowCount, rows } = await client.query<SpentRow>(
    limit
      ? {
          name: "admit-spend-one",
          text: spendOneText,
          values: [...values, limit.quota, limit.windowSeconds],
        }
      : { name: "admit-count-one", text: countOneText, values },
  );
  const [spent] = rows;
  return {
    uncounted: rowCount === 1 ? [] : [keyId],
    spent: spent ? new Map([[keyId, readSpent(spent)]]) : nothingSpent,
  };
}

interface SpentRow {
  readonly granted: number;
  readonly remaining: number;
  readonly resets_in_seconds: number;
}

function readSpent({ granted, remaining, resets_in_seconds }: SpentRow): Spent {
  return { granted, remaining, resetsInSeconds: resets_in_seconds };
}
