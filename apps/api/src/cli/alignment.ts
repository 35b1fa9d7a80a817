import type { ListResult } from "./result.ts";

/** Columns are as wide as this many first rows need. A wider cell further down shifts the rest of its row. */
const measuredRows = 100;

const gap = "  ";

/** Labels and texts in two columns. A text of several lines is indented. */
export function alignLines(lines: readonly (readonly [label: string, text: string])[]): string {
  const width = Math.max(...lines.map(([label]) => widthOf(label)));
  const indent = `\n${" ".repeat(width)}${gap}`;
  return lines
    .map(([label, text]) => {
      const [first = "", ...others] = text.split(/\r?\n/).map(showControls);
      return `${`${pad(label, width)}${gap}${[first, ...others].join(indent)}`.trimEnd()}\n`;
    })
    .join("");
}

/** A table with a header, in chunks. */
export async function* alignRows({ headers, rows, emptyText }: ListResult): AsyncGenerator<string> {
  const header = headers.map((label) => label.toUpperCase());
  const first: (readonly string[])[] = [];
  let widths: readonly number[] | undefined;
  for await (const { cells } of rows) {
    const shown = cells.map(showControls);
    if (widths) yield alignRow(shown, widths);
    else first.push(shown);
    if (!widths && first.length === measuredRows) {
      widths = measure([header, ...first]);
      yield alignTable([header, ...first], widths);
    }
  }
  if (widths) return;
  yield first.length === 0 ? `${emptyText}\n` : alignTable([header, ...first], measure([header, ...first]));
}

function measure(rows: readonly (readonly string[])[]): readonly number[] {
  const [header = []] = rows;
  return header.map((_label, column) => Math.max(...rows.map((cells) => widthOf(cells[column] ?? ""))));
}

function alignTable(rows: readonly (readonly string[])[], widths: readonly number[]): string {
  return rows.map((cells) => alignRow(cells, widths)).join("");
}

function alignRow(cells: readonly string[], widths: readonly number[]): string {
  const padded = cells.map((cell, column) => pad(cell, widths[column] ?? 0));
  return `${padded.join(gap).trimEnd()}\n`;
}

function pad(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}

const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

/** The number of grapheme clusters; the width of wide characters depends on the terminal. */
function widthOf(text: string): number {
  return /^[\x20-\x7e]*$/.test(text) ? text.length : [...segmenter.segment(text)].length;
}

/** Escapes characters that would move the cursor or change the writing direction. */
function showControls(text: string): string {
  return text.replace(
    /[\p{Control}\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
