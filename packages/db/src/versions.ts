import { type RawBuilder, sql } from "kysely";

/** The versions that an edit may have been made from; undefined for whatever there is. */
export type Versions = readonly number[] | undefined;

/** A condition of an update or a deletion: the row is still at one of the versions that the edit may have been made from. */
export function isAtVersion(versions: Versions): RawBuilder<boolean> {
  return versions ? sql<boolean>`version = any(${versions}::integer[])` : sql<boolean>`true`;
}
