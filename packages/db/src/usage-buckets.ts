import { type RawBuilder, sql } from "kysely";

/** Consecutive stretches of time, such as the days in a reader's time zone. Hours are counted in the bucket they begin in. */
export interface UsageBuckets {
  /** When each bucket begins, in ascending order; at least one. */
  readonly starts: readonly Date[];
  /** When the last bucket ends. */
  readonly to: Date;
}

/** SQL for the beginning of the bucket of a row of `key_usage_hours`, and for the condition that it is in one. */
export function bucketsAsSql({ starts, to }: UsageBuckets): {
  readonly startsAt: RawBuilder<Date>;
  readonly isInside: RawBuilder<boolean>;
} {
  const times = sql`${starts.map((start) => start.toISOString())}::timestamptz[]`;
  return {
    startsAt: sql`(${times})[width_bucket(hour, ${times})]`,
    isInside: sql`(hour >= ${starts[0]} and hour < ${to})`,
  };
}
