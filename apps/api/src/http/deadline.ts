import { AppError } from "@latchkey/errors";

/** Callers get a response within two seconds, even if the database is down. In milliseconds. */
export const responseDeadlineMs = 1_800;

/**
 * A change starts only if this much time is left before the deadline of its request, in milliseconds. The changes that waited longest
 * start first, so that without this minimum, a long queue consists of changes that start just before their deadline and are
 * committed after their 503. Many times what a change takes, and no more than what a verdict at its own deadline leaves.
 */
export const minChangeMs = 300;

/**
 * Waits for the task until the deadline, and then leaves it to itself. For a change, see {@link rolledBackAfter}.
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
 * Makes a transaction fail if it is ready to be committed only after the deadline, when the caller already has 503 and may send the
 * request again. Only a commit that is in flight at the deadline can succeed after the 503.
 * @param deadline in milliseconds, by `performance.now()`.
 */
export function rolledBackAfter<Trx, Result>(
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
