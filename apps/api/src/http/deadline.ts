import { AppError } from "@latchkey/errors";

/**
 * A change starts only if at least this much time is left before the deadline of its request, in milliseconds. The changes that waited
 * longest start first. So without this minimum, each change in a long queue starts just before its deadline and is committed after
 * its 503. It is about twelve times as long as issuing a key takes. A longer one would reject every change whose request is admitted
 * at the deadline of admission.
 */
export const minRemainingMs = 300;

/**
 * Waits for the task until the deadline. The task continues after the deadline; {@link rollBackAfter} stops a change.
 * @throws {AppError} SERVICE_UNAVAILABLE at the deadline; before it, what the task throws.
 */
export async function withinDeadline<Result>(milliseconds: number, task: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_resolve, reject) => {
    const giveUp = (): void => reject(unavailable());
    timer = setTimeout(giveUp, milliseconds);
  });
  try {
    return await Promise.race([task, deadline]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Returns work that makes its transaction roll back if it ends after the deadline: the caller already has 503 and may send the request
 * again. Only a commit that is in flight at the deadline can succeed after the 503.
 * @param deadline in milliseconds, by `performance.now()`.
 */
export function rollBackAfter<Trx, Result>(
  deadline: number,
  work: (trx: Trx) => Promise<Result>,
): (trx: Trx) => Promise<Result> {
  return async (trx) => {
    const result = await work(trx);
    if (performance.now() > deadline) throw unavailable();
    return result;
  };
}

function unavailable(): AppError {
  return new AppError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 });
}
