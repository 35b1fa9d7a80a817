import { type RawBuilder, sql } from "kysely";

/** Consecutive periods, such as days in the reader's time zone. An hour belongs to the bucket in which it starts. */
export interface UsageBuckets {
  /** When each bucket begins, in ascending order; at least one. */
  readonly starts: readonly Date[];
  /** When the last bucket ends. */
  readonly to: Date;
}

/** SQL for the start of the bucket of a row with an `hour`, and for whether the row is in any bucket. */
export function bucketsAsSql({ starts, to }: UsageBuckets): {
  readonly startsAt: RawBuilder<Date>;
  readonly isInRange: RawBuilder<boolean>;
} {
  const times = sql`${starts.map((start) => start.toISOString())}::timestamptz[]`;
  return {
    startsAt: sql`(${times})[width_bucket(hour, ${times})]`,
    isInRange: sql`(hour >= ${starts[0]} and hour < ${to})`,
  };
}
