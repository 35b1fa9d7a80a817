import type { Origin } from "@latchkey/db/audit-actions";
import type { Trx } from "@latchkey/db/schema";
import { consumeFromBucket, hourlyBucket } from "@latchkey/db/throttle-buckets";
import { AppError } from "@latchkey/errors";
import type { Quotas } from "./quotas.ts";

/**
 * Counts secrets of issued keys that a user is about to create, and disabled keys that a user is about to enable, and rejects those
 * beyond the hourly quota. Each adds an event to the audit log and a message to each webhook, and a rotation stores an old secret, so
 * without a limit one user could fill the database and the queue of messages. A key can be disabled without limit, but only as often as it
 * is enabled. Changes by the command aren't limited.
 *
 * Call it after the keys are locked, and before their counters, for which verifications wait: it locks a row of the user.
 * @param options.count how many secrets and enabled keys. 0 only locks the row, so that a later call in the transaction doesn't wait.
 * @throws {AppError} TOO_MANY_REQUESTS with `Retry-After`. Nothing is counted, because the transaction is rolled back.
 */
export async function consumeIssuedSecretQuota(
  trx: Trx,
  { actor }: Origin,
  { count, quotas: { issuedSecretsPerHour } }: { readonly count: number; readonly quotas: Quotas },
): Promise<void> {
  if (actor.kind === "command") return;
  const bucket = hourlyBucket(`secrets of issued keys by ${actor.userId}`, issuedSecretsPerHour);
  const retryAfterSeconds = Math.ceil(await consumeFromBucket(trx, bucket, count));
  if (retryAfterSeconds === 0) return;
  const minutes = Math.ceil(retryAfterSeconds / 60);
  throw new AppError("TOO_MANY_REQUESTS", {
    message: [
      "This request exceeds your limit of ",
      { count: issuedSecretsPerHour },
      ` secrets of issued keys per hour. Enabling a key counts as one. Try again in ${minutes} ${minutes === 1 ? "minute" : "minutes"}. You can still change, disable and delete keys, and revoke old secrets.`,
    ],
    retryAfterSeconds,
  });
}
