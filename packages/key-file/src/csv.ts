import { CsvError, parse } from "csv-parse/sync";
import { KeyFileError } from "./key-file-error.ts";
import type { KeyFileField } from "./key-file-fields.ts";
import type { KeyFileRow } from "./key-file-row.ts";
import { type Block, countBreaks } from "./split-into-blocks.ts";

interface CsvRecord {
  readonly record: readonly string[];
  /** The text of the record, with its line break and the empty lines before it. */
  readonly raw: string;
  /** `lines` is the number of the line on which the record ends. */
  readonly info: { readonly lines: number };
}

/** How a cell of CSV is read: as text, as a list of items separated by whitespace, or as JSON. */
type CellFormat = "text" | "list" | "json";

const cellFormats: Readonly<Record<KeyFileField, CellFormat>> = {
  hash: "text",
  start: "text",
  name: "text",
  externalId: "text",
  permissions: "list",
  limits: "json",
  credits: "json",
  expiresAt: "text",
  isDisabled: "json",
  ipRanges: "list",
  meta: "json",
};

/**
 * Reads the records of a block of CSV.
 * @param columns the names of the columns; undefined if the first record has them.
 * @throws {KeyFileError} for text that isn't CSV. What follows can't be read either, because the end of a quoted cell is unknown.
 */
export function readCsvBlock(
  block: Block,
  columns: readonly string[] | undefined,
): { readonly columns: readonly string[] | undefined; readonly rows: readonly KeyFileRow[] } {
  const [first, ...others] = parseRecords(block);
  const header = columns ?? first?.record.map((name) => name.trim());
  if (!first || !header) return { columns, rows: [] };
  const records = columns ? [first, ...others] : others;
  const rows = records.map(({ record, raw, info: { lines } }) => ({
    line: block.firstLine + lines - 1 - countInnerBreaks(raw),
    content: toContent(record, header),
  }));
  return { columns: header, rows };
}

function parseRecords({ text, firstLine }: Block): readonly CsvRecord[] {
  try {
    return parse(text, {
      bom: true,
      info: true,
      raw: true,
      record_delimiter: ["\r\n", "\n"],
      relax_column_count: true,
      skip_empty_lines: true,
    }) as unknown as readonly CsvRecord[]; // What it returns with `info` and `raw`.
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const line = firstLine + Number(error.lines) - 1;
    throw new KeyFileError(`Line ${line} isn’t valid CSV. Check its quotation marks.`);
  }
}

/** The number of line breaks in a record, without those before and after it. */
function countInnerBreaks(raw: string): number {
  const isBreak = (index: number) => raw[index] === "\r" || raw[index] === "\n";
  let start = 0;
  let end = raw.length;
  while (start < end && isBreak(start)) start += 1;
  // A regular expression that is anchored at the end would take quadratic time for a cell with many line breaks.
  while (end > start && isBreak(end - 1)) end -= 1;
  return countBreaks(raw.slice(start, end));
}

function toContent(record: readonly string[], columns: readonly string[]): KeyFileRow["content"] {
  if (record.length !== columns.length)
    return { problem: `This row has ${record.length} cells instead of ${columns.length}.` };
  return Object.fromEntries(
    columns.flatMap((name, index) => {
      const cell = record[index] ?? "";
      return cell === "" ? [] : [[name, readCell(name, cell)]];
    }),
  );
}

function readCell(name: string, cell: string): unknown {
  const format: CellFormat | undefined = cellFormats[name as KeyFileField]; // Undefined for an unknown column, which the caller rejects.
  if (name === "expiresAt" && cell === "never") return null;
  // Unlike an empty cell, which stands for the default of the keyspace.
  if (format === "list" && cell.trim() === "[]") return [];
  if (format === "list") return cell.split(/\s+/).filter((item) => item !== "");
  if (format !== "json") return cell;
  try {
    const value: unknown = JSON.parse(cell);
    return name === "credits" && typeof value === "number" ? { remaining: value } : value;
  } catch {
    return cell; // The check of the fields reports the error.
  }
}
