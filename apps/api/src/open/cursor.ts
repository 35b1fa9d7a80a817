import { AppError } from "@latchkey/errors";

/** Where a page ends, as callers see it: opaque, so that what is inside may change. */
export function encodeCursor(position: string): string {
  return Buffer.from(position).toString("base64url");
}

/**
 * Reads a cursor back with the parser of what it holds.
 * @throws {AppError} BAD_REQUEST when it did not come from {@link encodeCursor}.
 */
export function decodeCursor<Position>(
  cursor: string | undefined,
  parse: (position: string) => Position | undefined,
): Position | undefined {
  if (cursor === undefined) return undefined;
  const position = parse(Buffer.from(cursor, "base64url").toString());
  if (position === undefined) {
    throw new AppError("BAD_REQUEST", {
      issues: [{ path: "cursor", message: "must be a nextCursor of this list" }],
    });
  }
  return position;
}

/**
 * Turns rows into a page. Ask for one row more than the page holds: whether it came tells whether there is more.
 */
export function toPage<Row, Item>(
  rows: readonly Row[],
  limit: number,
  { present, position }: { readonly present: (row: Row) => Item; readonly position: (row: Row) => string },
): { data: Item[]; nextCursor: string | null; hasMore: boolean } {
  const hasMore = rows.length > limit;
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    data: shown.map(present),
    nextCursor: hasMore && last !== undefined ? encodeCursor(position(last)) : null,
    hasMore,
  };
}
