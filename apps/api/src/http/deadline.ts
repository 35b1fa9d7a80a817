import { AppError } from "@latchkey/errors";

/**
 * Waits for the task, and gives up waiting at the deadline. A change that was under way then may still happen.
 * @throws {AppError} SERVICE_UNAVAILABLE at the deadline; else what the task throws.
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
