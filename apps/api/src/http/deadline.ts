import { AppError } from "@latchkey/errors";

/** Callers get a response within two seconds, even if the database is down. In milliseconds. */
export const responseDeadlineMs = 1_800;

/**
 * Waits for the task until the deadline. A change that is in progress at the deadline may still be committed.
 * @throws {AppError} SERVICE_UNAVAILABLE at the deadline; before it, what the task throws.
 */
export async function withinDeadline<Result>(milliseconds: number, task: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_resolve, reject) => {
    const giveUp = (): void => reject(new AppError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 }));
    timer = setTimeout(giveUp, milliseconds);
  });
  try {
    return await Promise.race([task, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
