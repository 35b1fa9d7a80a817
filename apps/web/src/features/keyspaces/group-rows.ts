import type { KeyFileRow } from "@latchkey/key-file/key-file-row";
import { requestLimits } from "@latchkey/limits";
import { formatCount } from "../../ui/count.ts";

/** The most rows of a call. */
const maxRows = 500;
/** The most JSON of a call, in bytes, unless one row has more. */
const maxGroupBytes = 40_000;
/** The most JSON of a row, in bytes. It leaves room for the rest of the body. No valid row has half of this. */
const maxRowBytes = requestLimits.maxBodyBytes - 2_400;

const encoder = new TextEncoder();

/**
 * Divides rows into groups that each fit into a call. A row that doesn't fit into any is replaced by what is wrong with it, which
 * the API reports like any other rejected row.
 */
export async function* groupRows(rows: AsyncIterable<KeyFileRow>): AsyncGenerator<KeyFileRow[]> {
  let group: KeyFileRow[] = [];
  let groupBytes = 0;
  for await (const row of rows) {
    const fitting = fitRow(row);
    const bytes = bytesOf(fitting);
    if (group.length === maxRows || (group.length > 0 && groupBytes + bytes > maxGroupBytes)) {
      yield group;
      group = [];
      groupBytes = 0;
    }
    group.push(fitting);
    groupBytes += bytes;
  }
  if (group.length > 0) yield group;
}

function fitRow(row: KeyFileRow): KeyFileRow {
  const bytes = bytesOf(row);
  if (bytes <= maxRowBytes) return row;
  const problem = `This row has ${formatCount(bytes)} bytes of JSON. Use at most ${formatCount(maxRowBytes)}.`;
  return { line: row.line, content: { problem } };
}

function bytesOf(row: KeyFileRow): number {
  return encoder.encode(JSON.stringify(row)).length;
}
