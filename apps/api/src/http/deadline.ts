import { AppError } from "@latchkey/errors";

/** How long a request under `/open` may take, in milliseconds: callers were promised an answer within two seconds. */
const deadlineMs = 1_900;

/**
 * Runs the task, and gives up waiting for it at the deadline. A change that was under way then may still happen.
 * @throws {AppError} SERVICE_UNAVAILABLE at the deadline; else what the task throws.
 */
export async function withinDeadline(task: () => Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new AppError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 })),
      deadlineMs,
    );
  });
  try {
    await Promise.race([task(), deadline]);
  } finally {
    clearTimeout(timer);
  }
}
