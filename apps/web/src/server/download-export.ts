import { TRPCClientError } from "@trpc/client";

/** A downloaded file, and how many records it has. */
interface DownloadedExport {
  readonly blob: Blob;
  readonly count: number;
}

const lineFeed = 10;

/** An export that the server streams, with one record per line. */
export interface ExportSource {
  readonly path: "/exports/audit-events" | "/exports/verifications";
  readonly input: object;
  /** The format of the file. The first line of a CSV file is the header. */
  readonly format: "csv" | "ndjson";
}

/**
 * Downloads an export. The browser, and not this code, decides whether a large file is kept in memory.
 * @param options.onProgress called with the number of records so far.
 * @throws {TRPCClientError} for an error response, which is described as one to a call; another error if the connection closes
 *   early or `signal` aborts.
 */
export async function downloadExport(
  { path, input, format }: ExportSource,
  { signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress: (count: number) => void },
): Promise<DownloadedExport> {
  const response = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(input),
    signal,
  });
  if (!response.ok || !response.body) {
    const responseJSON: unknown = await response.json().catch(() => undefined);
    throw new TRPCClientError("The server responded with an error.", { meta: { responseJSON } });
  }
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let count = format === "csv" ? -1 : 0;
  for (const reader = response.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    for (const byte of value) if (byte === lineFeed) count += 1;
    onProgress(Math.max(0, count));
  }
  const type = response.headers.get("Content-Type") ?? "text/plain";
  return { blob: new Blob(chunks, { type }), count };
}
