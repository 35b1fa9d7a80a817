import type { TestDatabase } from "@latchkey/db/testing/test-database";
import { sql } from "kysely";
import { onTestFinished } from "vitest";

/** Stops the database's clock at this many seconds from now, until the test ends. */
export type StopClock = (seconds: number) => Promise<void>;

/** Creates a function clock_timestamp() that the search path of the database finds before the one of Postgres. */
export async function installStoppableClock(database: TestDatabase): Promise<StopClock> {
  const { owner } = database;
  await sql`create table stopped_clock (now timestamptz)`.execute(owner);
  await sql`insert into stopped_clock values (null)`.execute(owner);
  await sql`grant select on stopped_clock to public`.execute(owner);
  await sql`
    create function public.clock_timestamp() returns timestamptz language sql volatile
    as 'select coalesce(now, pg_catalog.clock_timestamp()) from public.stopped_clock'`.execute(owner);
  const name = sql.ref(database.connection.database);
  await sql`alter database ${name} set search_path = public, pg_catalog`.execute(owner);
  // Connections that were opened before this setting still use the clock of Postgres.
  await sql`
    select pg_terminate_backend(pid, 10000) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`.execute(owner);
  return async (seconds) => {
    onTestFinished(async () => {
      await sql`update stopped_clock set now = null`.execute(owner);
    });
    await sql`update stopped_clock set now = now() + ${seconds} * interval '1 second'`.execute(owner);
  };
}
