import { setTimeout as delay } from "node:timers/promises";
import { sql } from "kysely";
import { presenceLock } from "../embedded/presence.ts";
import type { Db } from "../schema.ts";
import { BackupError } from "./backup-error.ts";

/** Connections that last only as long as one check. A process that has only these holds no data. */
const shortLived = ["latchkey start", "latchkey migrate", "latchkey restore"];

/** Postgres ends the connections of a process a moment after the process, later on a busy machine. */
const maxChecks = 20;
const pauseMs = 100;

/**
 * Checks that no other Latchkey process uses the database: none has a connection to it, or is present on its embedded
 * Postgres. A server keeps a connection that listens for jobs, even while it is idle. While it has lost its connections, it is found
 * only with an embedded Postgres. Waits two seconds for a process that has just ended.
 * @throws {BackupError} `database-in-use`
 */
export async function requireUnused(db: Db, isEmbedded: boolean): Promise<void> {
  for (let check = 1; check <= maxChecks; check += 1) {
    if (!(await isUsed(db, isEmbedded))) return;
    await delay(pauseMs);
  }
  throw new BackupError(
    "database-in-use",
    "Another Latchkey process is using the database. Stop every server, then restore the backup.",
  );
}

async function isUsed(db: Db, isEmbedded: boolean): Promise<boolean> {
  const { rows } = await sql<{ connections: number; presences: number }>`
    select
      (
        select count(*) from pg_stat_activity
        where datname = current_database() and application_name like 'latchkey%' and application_name <> all(${shortLived})
      ) as connections,
      (
        select count(*) from pg_locks
        where locktype = 'advisory' and mode = 'ShareLock' and granted
          and (classid::bigint << 32) | objid::bigint = ${presenceLock}
      ) as presences`.execute(db);
  const { connections = 0, presences = 0 } = rows[0] ?? {};
  // This process is present on its own embedded Postgres.
  return connections > 0 || (isEmbedded && presences > 1);
}
