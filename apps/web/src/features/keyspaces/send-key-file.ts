import { formatOfKeyFile, readKeyFile } from "@latchkey/key-file";
import { KeyFileError } from "@latchkey/key-file/key-file-error";
import { locateRejected } from "@latchkey/key-file/locate-rejected";
import { trpcClient } from "../../server/trpc.ts";
import { groupRows } from "./group-rows.ts";

/** What an import has done so far. */
export interface ImportProgress {
  readonly imported: number;
  /** Rows whose key the keyspace had already. */
  readonly existing: number;
  readonly rejected: readonly RejectedRow[];
  /** The share of the file that was read, from 0 to 1. */
  readonly share: number;
}

export type RejectedRow = Awaited<
  ReturnType<typeof trpcClient.issuedKeyImport.importRows.mutate>
>["rejected"][number];

export const noProgress: ImportProgress = { imported: 0, existing: 0, rejected: [], share: 0 };

/**
 * Imports the keys of a file, in as many calls as necessary.
 * @param options.onProgress called after each call.
 * @param options.signal stops the import between two calls.
 * @throws {KeyFileError} if the file can't be read. Rows before the error may have been imported.
 */
export async function sendKeyFile(
  file: File,
  path: { readonly workspaceId: string; readonly keyspaceId: string },
  {
    signal,
    onProgress,
  }: { readonly signal: AbortSignal; readonly onProgress: (progress: ImportProgress) => void },
): Promise<ImportProgress> {
  const format = formatOfKeyFile(file.name);
  if (!format) throw new KeyFileError("Choose a file whose name ends in .csv, .ndjson or .jsonl.");
  let progress = noProgress;
  const position = { bytes: 0 };
  for await (const rows of groupRows(readKeyFile(readBytes(file, position), format))) {
    signal.throwIfAborted();
    const result = await trpcClient.issuedKeyImport.importRows.mutate({ ...path, rows });
    progress = {
      imported: progress.imported + result.imported,
      existing: progress.existing + result.existing,
      rejected: [...progress.rejected, ...locateRejected(result.rejected, rows, format)],
      share: file.size === 0 ? 1 : position.bytes / file.size,
    };
    onProgress(progress);
  }
  return { ...progress, share: 1 };
}

/** Reads a file, and notes how much was read. */
async function* readBytes(file: File, position: { bytes: number }): AsyncGenerator<Uint8Array> {
  for (const reader = file.stream().getReader(); ; ) {
    const { done, value } = await reader.read().catch(rejectUnreadable);
    if (done) return;
    position.bytes += value.length;
    yield value;
  }
}

/** Browsers can't read a file that was changed, moved or deleted after the user chose it. */
function rejectUnreadable(cause: unknown): never {
  throw new KeyFileError("The file can’t be read. If it has changed, choose it again.", { cause });
}
