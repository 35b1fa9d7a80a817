import { type RawBuilder, sql } from "kysely";

/** The versions that an edit can be based on; undefined for any version. */
export type Versions = readonly number[] | undefined;

/** SQL for whether a row is still at one of these versions, as a condition of an update or deletion. */
export function isAtVersion(versions: Versions): RawBuilder<boolean> {
  return versions ? sql<boolean>`version = any(${versions}::integer[])` : sql<boolean>`true`;
}
