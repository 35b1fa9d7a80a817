import type { ServerResponse } from "node:http";
import { FairSemaphore } from "@latchkey/auth/fair-semaphore";
import type { UserId } from "@latchkey/db/ids";
import { AppError } from "@latchkey/errors";
import type { StreamedFile } from "./streamed-file.ts";

/** How many exports of one user, in the web app and with API keys, can be in progress on a node. */
export const maxOpenExports = 4;

/** How long a client should wait before it tries again, in seconds. Most exports take less. */
const retryAfterSeconds = 10;

/**
 * Limits how many exports of one user are in progress. An export whose client doesn't read holds one or two pages, up to a megabyte,
 * until the server closes the connection after 70 seconds without traffic. So without a limit, one user could fill the memory of a node.
 */
export function createExportSemaphore(): FairSemaphore<UserId> {
  return new FairSemaphore({ maxRunningPerKey: maxOpenExports, maxWaitingPerKey: 0, createRejection });
}

function createRejection(): AppError {
  return new AppError("TOO_MANY_REQUESTS", {
    message: [
      "You have reached the limit of ",
      { count: maxOpenExports },
      " concurrent exports. Try again when one has ended.",
    ],
    retryAfterSeconds,
  });
}

/**
 * Opens a file as an export of the user, which is in progress until the response has ended and the file has been opened. Both can be
 * the last: a request can get 503 or lose its client while the first page is read.
 * @param exports from {@link createExportSemaphore}.
 * @throws {AppError} TOO_MANY_REQUESTS; otherwise what `open` throws.
 */
export async function openExport(
  exports: FairSemaphore<UserId>,
  { userId, res }: { readonly userId: UserId; readonly res: ServerResponse },
  open: () => Promise<StreamedFile>,
): Promise<StreamedFile> {
  const { promise, resolve, reject } = Promise.withResolvers<StreamedFile>();
  const task = async (): Promise<void> => {
    resolve(await open());
    await waitForEnd(res);
  };
  exports.run(userId, Number.POSITIVE_INFINITY, task).catch(reject);
  return await promise;
}

/** Waits until a response has been sent or its connection has ended. */
async function waitForEnd(res: ServerResponse): Promise<void> {
  if (res.closed) return;
  await new Promise<void>((resolve) => {
    res.once("close", resolve);
  });
}
