import { createHash } from "node:crypto";
import { type RawBuilder, sql } from "kysely";
import type { Db, Trx } from "./schema.ts";

/** An attempt that consumes one token of a bucket, which refills at a constant rate. A bucket without a row is full. */
export interface BucketUse {
  /** A digest of what is throttled, 32 bytes. */
  readonly digest: Buffer;
  /** How many tokens a full bucket has. */
  readonly capacity: number;
  /** How long it takes to refill one token, in seconds. */
  readonly refillSeconds: number;
}

/** A bucket of `perHour` tokens that refills at `perHour` tokens per hour. @param name what is throttled. */
export function hourlyBucket(name: string, perHour: number): BucketUse {
  const digest = createHash("sha256").update(name).digest();
  return { digest, capacity: perHour, refillSeconds: 3_600 / perHour };
}

/**
 * Consumes one token of each bucket, or none at all. The rows are locked in the order of their digests, so that
 * concurrent attempts neither exceed a bucket nor deadlock. An attempt that is rejected usually writes nothing.
 * @returns 0 if the tokens were consumed; otherwise the time until every bucket has one, in seconds.
 */
export async function consumeFromBuckets(db: Db, uses: readonly BucketUse[]): Promise<number> {
  const waitSeconds = await readWaitSeconds(db, uses);
  if (waitSeconds > 0) return waitSeconds;
  return await db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ waitSeconds: number }>`
      with requested as materialized (${usesAsTable(uses)}),
      consumed as (
        insert into throttle_buckets as bucket (digest, full_at)
        select digest, clock_timestamp() + refill from requested order by digest
        on conflict (digest) do update
          -- Reads the clock after the row is locked: now() may be earlier than the attempt that held the lock.
          set full_at = greatest(bucket.full_at, clock_timestamp())
            + (select refill from requested where requested.digest = excluded.digest)
        returning digest, full_at
      )
      select coalesce(max(extract(epoch from full_at - clock_timestamp() - refill * capacity)), 0)::float8 as "waitSeconds"
      from consumed join requested using (digest)`.execute(trx);
    const missingSeconds = rows[0]?.waitSeconds ?? 0;
    if (missingSeconds <= 0) return 0;
    // A concurrent attempt consumed the last token after the buckets were read.
    await returnTokens(trx, uses);
    return missingSeconds;
  });
}

/**
 * Consumes tokens of a bucket in a transaction, which must be rolled back if there are too few, unless the tokens are returned.
 * @param count how many tokens; 1 by default. 0 only locks the row of the bucket until the transaction ends.
 * @returns 0 if the tokens were consumed; otherwise the time until there are enough, in seconds.
 */
export async function consumeFromBucket(
  trx: Trx,
  { digest, capacity, refillSeconds }: BucketUse,
  count = 1,
): Promise<number> {
  const { rows } = await sql<{ waitSeconds: number }>`
    insert into throttle_buckets as bucket (digest, full_at)
    values (${digest}, clock_timestamp() + make_interval(secs => ${refillSeconds * count}))
    on conflict (digest) do update
      set full_at = greatest(bucket.full_at, clock_timestamp()) + make_interval(secs => ${refillSeconds * count})
    returning extract(epoch from full_at - clock_timestamp() - make_interval(secs => ${refillSeconds * capacity}))::float8
      as "waitSeconds"`.execute(trx);
  return Math.max(0, rows[0]?.waitSeconds ?? 0);
}

/** Consumes a token of a bucket in a transaction, or nothing if there is none. @returns whether there was one. */
export async function tryConsumeFromBucket(trx: Trx, use: BucketUse): Promise<boolean> {
  if ((await consumeFromBucket(trx, use)) === 0) return true;
  await returnTokens(trx, [use]);
  return false;
}

/** Returns a consumed token to each bucket. */
export async function returnTokens(db: Db | Trx, uses: readonly BucketUse[]): Promise<void> {
  await sql`
    with requested as materialized (${usesAsTable(uses)}),
    locked as materialized (
      select digest from throttle_buckets where digest in (select digest from requested)
      order by digest for update
    )
    update throttle_buckets set full_at = full_at - refill
    from locked join requested using (digest)
    where throttle_buckets.digest = locked.digest`.execute(db);
}

/** The time until every bucket has a token, in seconds; 0 if each has one. Consumes nothing. */
export async function readWaitSeconds(db: Db, uses: readonly BucketUse[]): Promise<number> {
  const { rows } = await sql<{ waitSeconds: number }>`
    with requested as materialized (${usesAsTable(uses)})
    select coalesce(max(extract(epoch from full_at - clock_timestamp() + refill - refill * capacity)), 0)::float8
      as "waitSeconds"
    from throttle_buckets join requested using (digest)`.execute(db);
  return Math.max(0, rows[0]?.waitSeconds ?? 0);
}

/** SQL for a table with a row per use: `digest`, `capacity` and the interval `refill`. */
function usesAsTable(uses: readonly BucketUse[]): RawBuilder<unknown> {
  return sql`
    select digest, capacity, make_interval(secs => seconds) as refill
    from unnest(
      ${uses.map(({ digest }) => digest)}::bytea[],
      ${uses.map(({ capacity }) => capacity)}::integer[],
      ${uses.map(({ refillSeconds }) => refillSeconds)}::float8[]
    ) as use (digest, capacity, seconds)`;
}
