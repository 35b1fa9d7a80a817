import { isDeepStrictEqual } from "node:util";
import type { Versions } from "@latchkey/db/versions";
import { AppError } from "@latchkey/errors";

/**
 * Whether a row already has the values of an edit. Such an edit writes nothing: a new version would change the ETag, and the next
 * edit with the former ETag in `If-Match` would fail without a reason (docs/decisions/0020).
 * @param before the row, locked against other changes.
 * @param edit.changes fields that are undefined keep their value. The fields of objects can have any order, because Postgres
 *   doesn't keep it.
 * @throws {AppError} PRECONDITION_FAILED if the row is at none of `versions`.
 */
export function isUnchanged<Row extends { readonly version: number }>(
  before: Row,
  edit: {
    readonly versions: Versions;
    readonly changes: { readonly [Name in keyof Row]?: Row[Name] | undefined };
  },
): boolean {
  if (edit.versions && !edit.versions.includes(before.version)) throw new AppError("PRECONDITION_FAILED");
  const names = Object.keys(edit.changes) as (keyof Row)[]; // The changes have the names of the row's fields.
  return names.every((name) => {
    const value = edit.changes[name];
    return value === undefined || isDeepStrictEqual(value, before[name]);
  });
}
