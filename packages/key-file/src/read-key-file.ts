import { readCsvBlock } from "./csv.ts";
import { findProblem } from "./find-problem.ts";
import { KeyFileError } from "./key-file-error.ts";
import { keyFileFields } from "./key-file-fields.ts";
import type { KeyFileRow } from "./key-file-row.ts";
import { type Block, splitIntoBlocks } from "./split-into-blocks.ts";

export const keyFileFormats = ["csv", "ndjson"] as const;
export type KeyFileFormat = (typeof keyFileFormats)[number];

const formatsByExtension: Readonly<Record<string, KeyFileFormat>> = {
  csv: "csv",
  ndjson: "ndjson",
  jsonl: "ndjson",
};

/** The format of a file by the extension of its name; undefined for another extension. */
export function formatOfKeyFile(name: string): KeyFileFormat | undefined {
  const extension = /\.([^./\\]+)$/.exec(name)?.[1] ?? "";
  return formatsByExtension[extension.toLowerCase()];
}

/**
 * Reads a file with keys: NDJSON, with one JSON object per line, or CSV with a header line. Empty lines are skipped. A row with
 * something that no request may contain has a problem instead of fields, so that it doesn't stop the import of the others.
 *
 * In CSV, a cell is a text, an empty cell is left out, `permissions` and `ipRanges` are separated by spaces, and `meta`, `limits`,
 * `credits` and `isDisabled` are JSON; credits can also be a number. A cell that isn't JSON stays a text.
 *
 * @param chunks the bytes of the file in UTF-8, in pieces of any size.
 * @throws {KeyFileError} for bytes that aren't UTF-8, for a header line without `hash`, or with an unknown or repeated column, and for
 *   text that isn't CSV.
 */
export async function* readKeyFile(
  chunks: AsyncIterable<Uint8Array>,
  format: KeyFileFormat,
): AsyncGenerator<KeyFileRow> {
  for await (const row of readRows(decode(chunks), format)) {
    const problem = findProblem(row.content);
    yield problem === undefined ? row : { line: row.line, content: { problem } };
  }
}

/** @throws {KeyFileError} for bytes that aren't UTF-8. */
async function* decode(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  // With replacement characters instead of an error, different external IDs could become the same.
  const decoder = new TextDecoder("utf-8", { fatal: true });
  for await (const chunk of chunks) yield decodeChunk(decoder, chunk);
  yield decodeChunk(decoder);
}

/** @param chunk absent after the last one. */
function decodeChunk(decoder: TextDecoder, chunk?: Uint8Array): string {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined });
  } catch (cause) {
    throw new KeyFileError("The file isn’t UTF-8 text. Save it in UTF-8, and import it again.", { cause });
  }
}

async function* readRows(chunks: AsyncIterable<string>, format: KeyFileFormat): AsyncGenerator<KeyFileRow> {
  let columns: readonly string[] | undefined;
  for await (const block of splitIntoBlocks(chunks, { hasQuotedBreaks: format === "csv" })) {
    if (format === "ndjson") {
      yield* readLines(block);
      continue;
    }
    const read = readCsvBlock(block, columns);
    if (columns === undefined && read.columns) requireColumns(read.columns);
    columns = read.columns;
    yield* read.rows;
  }
}

function* readLines({ text, firstLine }: Block): Generator<KeyFileRow> {
  for (const [index, line] of text.split("\n").entries()) {
    const json = line.replace(/^\uFEFF/, "").trim();
    if (json !== "") yield { line: firstLine + index, content: readLine(json) };
  }
}

function readLine(line: string): KeyFileRow["content"] {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Not JSON, as below.
  }
  return { problem: "This line isn’t a JSON object." };
}

function requireColumns(columns: readonly string[]): void {
  const known: readonly string[] = keyFileFields;
  const unknown = columns.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new KeyFileError(`The column ${JSON.stringify(unknown)} is unknown. Use ${known.join(", ")}.`);
  const repeated = columns.find((name, index) => columns.indexOf(name) < index);
  if (repeated !== undefined) throw new KeyFileError(`The column ${JSON.stringify(repeated)} appears twice.`);
  if (!columns.includes("hash"))
    throw new KeyFileError("The first line must name the columns, and one must be hash.");
}
