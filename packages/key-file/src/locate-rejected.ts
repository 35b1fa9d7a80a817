import type { KeyFileRow } from "./key-file-row.ts";
import type { KeyFileFormat } from "./read-key-file.ts";

/** A row that was not imported, and why. */
export interface RejectedRow {
  readonly line: number;
  /** The field that is wrong, with the path to a value in it, as in `limits.0.quota`; empty for the whole row. */
  readonly path: string;
  readonly message: string;
}

/**
 * Replaces the path of each row of CSV by the name of its column. If the cell has several values, the message starts with the one
 * that is wrong, as in `item 2: …`. Rows of NDJSON stay as they are.
 * @param rows the rows that were sent, with the rejected ones.
 */
export function locateRejected(
  rejected: readonly RejectedRow[],
  rows: readonly KeyFileRow[],
  format: KeyFileFormat,
): readonly RejectedRow[] {
  if (format === "ndjson") return rejected;
  const contents = new Map(rows.map(({ line, content }) => [line, content]));
  return rejected.map((row) => locateInCsv(row, contents.get(row.line)));
}

function locateInCsv(row: RejectedRow, content: KeyFileRow["content"] | undefined): RejectedRow {
  const [column = "", ...others] = row.path.split(".");
  if (others.length === 0 || isWholeCell(row.path, content)) return { ...row, path: column };
  const names = others.map((part) => (/^\d+$/.test(part) ? `item ${Number(part) + 1}` : part));
  return { ...row, path: column, message: `${names.join(", ")}: ${row.message}` };
}

/** Whether the cell may be a plain number of credits, which is read as `{ remaining }`. */
function isWholeCell(path: string, content: KeyFileRow["content"] | undefined): boolean {
  if (path !== "credits.remaining" || !content || !("credits" in content)) return false;
  const { credits } = content;
  return typeof credits === "object" && credits !== null && Object.keys(credits).join() === "remaining";
}
