import type pg from "pg";
import { countWithinLimit, type LimitOutcome, noLimitOutcomes, windowState } from "./limit-window.ts";
import type { CountResult, UsageIncrement } from "./usage-increment.ts";

/** Whether the version of the owner of the key is current, in the statement's snapshot (see `increment-input.ts`). */
const isOwnerCurrent =
  "coalesce((select version from owner_versions where owner_id = $5::uuid), 0) = $6::integer";

/**
 * Counts the uses of one key without a rate limit, if both versions are current and it has not expired. It is the cheap form,
 * for one key, of the statements that count batches: without an array to expand, to sort and to compare.
 */
export const countOneText = `
update key_counters counter
set use_count = counter.use_count + $2::integer,
    last_used_at = greatest(counter.last_used_at, clock_timestamp())
where counter.key_id = $1::uuid and counter.version = $3::integer
  and ($4::timestamptz is null or $4::timestamptz > clock_timestamp()) and ${isOwnerCurrent}`;

/** The same for a key with a rate limit. Returns the outcome of the limit. The statement reads the clock once. */
export const countOneWithLimitText = `
update key_counters counter
set ${countWithinLimit}
from (
  select $1::uuid as key_id, $2::integer as uses, $3::integer as version, $4::timestamptz as valid_until,
    $7::integer as quota, $8::integer * interval '1 second' as length, clock_timestamp() as now
) input
where counter.key_id = input.key_id and counter.version = input.version
  and (input.valid_until is null or input.valid_until > input.now) and ${isOwnerCurrent}
returning ${windowState}`;

/** Counts a batch that consists of one key, as a single busy key produces. @throws what the driver throws. */
export async function countOne(client: pg.Client, increment: UsageIncrement): Promise<CountResult> {
  const { keyId, uses, version, ownerId, ownerVersion, validUntil, limit } = increment;
  const values = [keyId, uses, version, validUntil, ownerId, ownerVersion];
  const { rowCount, rows } = await client.query<LimitOutcomeRow>(
    limit
      ? {
          name: "admit-count-one-with-limit",
          text: countOneWithLimitText,
          values: [...values, limit.quota, limit.windowSeconds],
        }
      : { name: "admit-count-one", text: countOneText, values },
  );
  const [outcome] = rows;
  return {
    uncounted: rowCount === 1 ? [] : [keyId],
    limits: outcome ? new Map([[keyId, readLimitOutcome(outcome)]]) : noLimitOutcomes,
  };
}

interface LimitOutcomeRow {
  readonly granted: number;
  readonly remaining: number;
  readonly resets_in_seconds: number;
}

function readLimitOutcome({ granted, remaining, resets_in_seconds }: LimitOutcomeRow): LimitOutcome {
  return { granted, remaining, resetsInSeconds: resets_in_seconds };
}
