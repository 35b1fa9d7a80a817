import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { AppError } from "@latchkey/errors";
import { formatOfKeyFile, keyFileFormats, readKeyFile } from "@latchkey/key-file";
import { KeyFileError } from "@latchkey/key-file/key-file-error";
import type { KeyFileRow } from "@latchkey/key-file/key-file-row";
import { locateRejected, type RejectedRow } from "@latchkey/key-file/locate-rejected";
import { z } from "zod";
import { type ImportResult, maxImportRows } from "../../domain/issued-key-import.ts";
import { importRows } from "../../import-rows.ts";
import { isSystemError } from "../../system-error.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { UsageError } from "../usage-error.ts";
import { keyspaceId } from "../values.ts";
import { findKeyspaceEdit } from "./find-keyspace.ts";

/** How often the progress is reported. */
const rowsPerReport = 10_000;

const input = z
  .strictObject({
    file: z.string().min(1, "Expected the path of a file."),
    keyspace: keyspaceId,
    format: z.enum(keyFileFormats, "Expected csv or ndjson.").optional(),
  })
  .transform(({ file, keyspace, format }, context) => {
    const found = format ?? formatOfKeyFile(file);
    if (found) return { file, keyspace, format: found };
    const message = "The extension of the file isn't .csv, .ndjson or .jsonl. Specify --format.";
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  });

export const importKeysTask = defineTask({
  input,
  validate: async ({ file }) => {
    const found = await stat(file).catch((error: unknown) => {
      if (isSystemError(error) && ["ENOENT", "ENOTDIR"].includes(error.code)) return undefined;
      throw error;
    });
    // A pipe, such as /dev/stdin, is read like a file.
    if (!found) throw new UsageError(`There is no file ${JSON.stringify(file)}.`);
    if (found.isDirectory())
      throw new UsageError(`${JSON.stringify(file)} is a directory. Expected the path of a file.`);
  },
  perform: async ({ db, quotas, stderr }, { file, keyspace, format }) => {
    const edit = await findKeyspaceEdit(db, keyspace);
    const content: AsyncIterable<Uint8Array> = createReadStream(file);
    const total = { imported: 0, existing: 0, rejected: [] as RejectedRow[] };
    let rowCount = 0;
    try {
      for await (const rows of inGroups(readKeyFile(content, format))) {
        const result = await db
          .transaction()
          .execute((trx) => importRows(trx, edit, { keyspaceId: keyspace, rows }, quotas));
        total.imported += result.imported;
        total.existing += result.existing;
        total.rejected.push(...locateRejected(result.rejected, rows, format));
        rowCount += rows.length;
        if (rowCount % rowsPerReport === 0)
          stderr.write(`Read ${rowCount} rows, imported ${total.imported} keys.\n`);
      }
    } catch (error) {
      if (rowCount > 0) stderr.write(describeStop(rowCount, total));
      throw error instanceof KeyFileError ? new AppError("BAD_REQUEST", { message: error.message }) : error;
    }
    return itemOf(total, [
      { label: "Imported", text: ({ imported }) => String(imported) },
      { label: "Already in the keyspace", text: ({ existing }) => String(existing) },
      {
        label: "Rejected",
        text: ({ rejected }) => rejected.map(describeRejected).join("\n") || "none",
      },
    ]);
  },
});

/** What an import did before it failed. Its rejected rows are reported again when it is repeated. */
function describeStop(rowCount: number, { imported, existing, rejected }: ImportResult): string {
  const counts = `${imported} imported, ${existing} already in the keyspace, ${rejected.length} rejected`;
  return `Stopped after ${rowCount} rows: ${counts}. Import the same rows again to continue.\n`;
}

function describeRejected({ line, path, message }: RejectedRow): string {
  return `line ${line}: ${path ? `${path}: ` : ""}${message}`;
}

async function* inGroups(rows: AsyncIterable<KeyFileRow>): AsyncGenerator<readonly KeyFileRow[]> {
  let group: KeyFileRow[] = [];
  for await (const row of rows) {
    group.push(row);
    if (group.length < maxImportRows) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}
