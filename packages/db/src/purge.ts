import { sql } from "kysely";
import type { Database, Db } from "./schema.ts";

/** One kind of row that is deleted once no query needs it. */
export interface PurgeRule {
  /** What the rows are, for the log: "expired sessions". */
  readonly name: string;
  /** Deletes at most `limit` rows in one statement or transaction. @returns how many it deleted. */
  readonly deleteSome: (db: Db, limit: number) => Promise<number>;
}

/** Everything that is purged, in the tenant role. Whether a row has expired is judged by the database's clock. */
export const purgeRules: readonly PurgeRule[] = [
  { name: "expired sessions", deleteSome: (db, limit) => deleteExpired(db, "sessions", limit) },
  { name: "expired verifications", deleteSome: (db, limit) => deleteExpired(db, "verifications", limit) },
];

/**
 * Deletes rows whose `expires_at` has passed, the oldest first, which needs an index on that column. Rows that another
 * node is deleting or changing are skipped, so that nodes neither wait for each other nor deadlock.
 */
async function deleteExpired(
  db: Db,
  table: keyof Database & ("sessions" | "verifications"),
  limit: number,
): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from ${sql.table(table)} where id = any(array(
      select id from ${sql.table(table)} where expires_at <= now()
      order by expires_at limit ${limit} for update skip locked
    ))`.execute(db);
  return Number(numAffectedRows);
}
