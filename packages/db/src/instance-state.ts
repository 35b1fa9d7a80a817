import { sql } from "kysely";
import { migrations } from "./migrations.ts";
import type { Db } from "./schema.ts";

/** The state of the database and of the job queue, for operators. */
export interface InstanceState {
  /** The version of Postgres, such as 18.1. */
  readonly postgresVersion: string;
  /** In bytes; null if the role may not connect to the database by itself, which its size needs. */
  readonly sizeBytes: number | null;
  /** The connections to this database, of this instance and of others. */
  readonly connectionCount: number;
  /** The most connections to all databases of the server. */
  readonly maxConnections: number;
  /** The newest migration in the database. */
  readonly newestMigration: string;
  /** Whether a newer version has migrated the schema. */
  readonly isSchemaNewer: boolean;
  readonly jobs: JobCounts;
}

export interface JobCounts {
  /** Jobs that run, are due, or are tried again later; at most {@link maxCountedJobs}. */
  readonly waiting: number;
  /** Jobs that failed at each of their attempts, the last one in the last seven days; at most {@link maxCountedJobs}. */
  readonly failed: number;
  /**
   * Since when the oldest of at most {@link maxCountedJobs} jobs has been due; null if no job is. Jobs that wait for another job of
   * their queue don't count.
   */
  readonly oldestDueAt: Date | null;
}

/** Where `count_jobs()` stops. It also reads the jobs that wait for another job of their queue, however many there are. */
export const maxCountedJobs = 1_000;

/** @param db a connection in the admission role, which may read the names of the migrations. */
export async function readInstanceState(db: Db): Promise<InstanceState> {
  const { rows } = await sql<Omit<InstanceState, "isSchemaNewer" | "jobs"> & JobCounts>`
    select split_part(current_setting('server_version'), ' ', 1) as "postgresVersion",
      case when has_database_privilege(current_database(), 'connect')
        then pg_database_size(current_database()) end as "sizeBytes",
      (select count(*) from pg_stat_activity where datname = current_database()) as "connectionCount",
      current_setting('max_connections')::integer as "maxConnections",
      (select max(name collate "C") from migrations) as "newestMigration",
      jobs.waiting, jobs.failed, jobs.oldest_due_at as "oldestDueAt"
    from count_jobs() jobs`.execute(db);
  const [row] = rows;
  if (!row) throw new Error("The query for the instance state returned no row.");
  const { waiting, failed, oldestDueAt, ...state } = row;
  return {
    ...state,
    isSchemaNewer: !(row.newestMigration in migrations),
    jobs: { waiting, failed, oldestDueAt },
  };
}
