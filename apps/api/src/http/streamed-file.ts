import { Readable } from "node:stream";
import type { Reply } from "./reply.ts";

/** A response of any length, which is sent while it is read. */
export interface StreamedFile {
  readonly contentType: string;
  /** The name under which a browser saves it; without quotation marks. */
  readonly name: string;
  readonly chunks: AsyncIterable<string>;
}

/**
 * Reads the first chunk before the response starts, so that an early failure gets an error response. A later failure
 * closes the connection before the response is complete, which clients report.
 */
export async function openFile(file: StreamedFile): Promise<StreamedFile> {
  const chunks = file.chunks[Symbol.asyncIterator]();
  let first: IteratorResult<string> | undefined = await chunks.next();
  // Not a generator: if it is closed before its first chunk is read, its `finally` doesn't run.
  const iterator: AsyncIterator<string> = {
    next: async () => {
      const chunk = first ?? chunks.next();
      // Otherwise, its text would stay in memory until the end of the response.
      first = undefined;
      return await chunk;
    },
    return: async () => {
      await chunks.return?.();
      return { done: true, value: undefined };
    },
  };
  return { ...file, chunks: { [Symbol.asyncIterator]: () => iterator } };
}

/** @param headers headers in addition to those of the file: name, value, name, value. */
export function fileReply(
  requestId: string,
  { contentType, name, chunks }: StreamedFile,
  headers: readonly string[] = [],
): Reply {
  return {
    status: 200,
    headers: [
      ...["Content-Type", contentType],
      ...["Content-Disposition", `attachment; filename="${name}"`],
      ...["X-Request-Id", requestId],
      ...["Cache-Control", "no-store"],
      ...["X-Content-Type-Options", "nosniff"],
      ...headers,
    ],
    // Reads at most one chunk ahead of those that wait for the client.
    body: Readable.from(chunks, { objectMode: false }),
  };
}
