import { sql } from "kysely";
import type { Database, Db } from "./schema.ts";
import { originLifetimeDays } from "./sign-in-origins.ts";

/** One kind of row that is deleted once no query needs it. */
export interface PurgeRule {
  /** What the rows are, for the log: "expired sessions". */
  readonly name: string;
  /** Deletes at most `limit` rows in one statement or transaction. @returns how many it deleted. */
  readonly deleteSome: (db: Db, limit: number) => Promise<number>;
}

/** Everything that is purged, in the tenant role. Whether a row has expired is judged by the database's clock. */
export const purgeRules: readonly PurgeRule[] = [
  expired("expired sessions", { table: "sessions", key: "id", time: "expires_at" }),
  expired("expired verifications", { table: "verifications", key: "id", time: "expires_at" }),
  expired("throttle buckets", { table: "throttle_buckets", key: "digest", time: "full_at" }),
  expired("sign-in origins", {
    table: "sign_in_origins",
    key: "digest",
    time: "last_used_at",
    keepDays: originLifetimeDays,
  }),
];

interface Expiry {
  readonly table: keyof Database;
  /** The primary key. */
  readonly key: string;
  /** The column with the time that a row has expired by, which needs an index. */
  readonly time: string;
  /** How long after that time the row is kept, in days; 0 by default. */
  readonly keepDays?: number;
}

/**
 * Deletes the oldest of the rows that have expired. Rows that another node is deleting or changing are skipped, so that
 * nodes neither wait for each other nor deadlock.
 */
function expired(name: string, { table, key, time, keepDays = 0 }: Expiry): PurgeRule {
  return {
    name,
    async deleteSome(db, limit) {
      const { numAffectedRows = 0n } = await sql`
        delete from ${sql.table(table)} where ${sql.ref(key)} = any(array(
          select ${sql.ref(key)} from ${sql.table(table)}
          where ${sql.ref(time)} <= now() - make_interval(days => ${keepDays})
          order by ${sql.ref(time)} limit ${limit} for update skip locked
        ))`.execute(db);
      return Number(numAffectedRows);
    },
  };
}
