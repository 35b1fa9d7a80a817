import type { UserId } from "@latchkey/db/ids";
import type { Trx } from "@latchkey/db/schema";
import { consumeFromBucket, hourlyBucket } from "@latchkey/db/throttle-buckets";
import { AppError } from "@latchkey/errors";
import type { Quotas } from "../domain/quotas.ts";

/** How many requests with a new `Idempotency-Key` a user can send per hour. */
const maxRecordsPerHour = 100_000;

/**
 * How much of a stored response counts as one request, in bytes. Most responses are shorter, but a bulk change of 1,000 keys stores ten
 * times as much.
 */
const answerBytesPerRecord = 4_096;

/**
 * Counts a record that a user has just stored for an `Idempotency-Key`, and rejects those beyond the hourly quota, because each is
 * kept for 24 hours. A long response counts as several. The quota is at least that of issued secrets, so that each of them can be created
 * with an `Idempotency-Key`, unless the keys are unusually large.
 *
 * Call it last in the transaction: all requests of the user with a new `Idempotency-Key` lock the same row until they commit, so a
 * transaction that then waited for another lock would delay all of them.
 * @throws {AppError} TOO_MANY_REQUESTS with `Retry-After`. Nothing is counted, because the transaction is rolled back.
 */
export async function consumeIdempotencyQuota(
  trx: Trx,
  userId: UserId,
  {
    answerBytes,
    quotas: { issuedSecretsPerHour },
  }: {
    /** The length of the stored response. */
    readonly answerBytes: number;
    readonly quotas: Pick<Quotas, "issuedSecretsPerHour">;
  },
): Promise<void> {
  const capacity = Math.max(maxRecordsPerHour, issuedSecretsPerHour);
  const count = Math.ceil(answerBytes / answerBytesPerRecord);
  const bucket = hourlyBucket(`idempotency records of ${userId}`, capacity);
  const retryAfterSeconds = Math.ceil(await consumeFromBucket(trx, bucket, count));
  if (retryAfterSeconds === 0) return;
  throw new AppError("TOO_MANY_REQUESTS", {
    message: [
      "You have reached the limit of ",
      { count: capacity },
      " requests with a new Idempotency-Key per hour. Try again later, or without an Idempotency-Key.",
    ],
    retryAfterSeconds,
  });
}
