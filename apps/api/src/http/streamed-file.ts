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
  const first = await chunks.next();
  return {
    ...file,
    chunks: (async function* () {
      try {
        for (let chunk = first; !chunk.done; chunk = await chunks.next()) yield chunk.value;
      } finally {
        await chunks.return?.();
      }
    })(),
  };
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
    // Reads the next chunk only when the client has received the previous ones.
    body: Readable.from(chunks, { objectMode: false }),
  };
}
