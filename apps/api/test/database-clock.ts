import { sql } from "kysely";
import type { TestApp } from "./test-app.ts";

/** Sets the database's clock ahead of the time by some hours, or back if the value is negative. */
export type SetDatabaseClock = (hours: number) => Promise<void>;

/** Creates a function clock_timestamp() that the search path of the app's database finds before the one of Postgres. */
export async function installDatabaseClock(app: TestApp): Promise<SetDatabaseClock> {
  await sql`create table clock_offset (hours integer not null)`.execute(app.owner);
  await sql`insert into clock_offset values (0)`.execute(app.owner);
  await sql`grant select on clock_offset to public`.execute(app.owner);
  await sql`
    create function public.clock_timestamp() returns timestamptz language sql volatile
    as 'select pg_catalog.clock_timestamp() + hours * interval ''1 hour'' from public.clock_offset'`.execute(
    app.owner,
  );
  await sql`alter database ${sql.ref(app.database)} set search_path = public, pg_catalog`.execute(app.owner);
  // Connections that were opened before this setting still use the clock of Postgres. With a timeout,
  // pg_terminate_backend returns after they are closed; a pool could hand out a connection that is closing.
  await sql`
    select pg_terminate_backend(pid, 10000) from pg_stat_activity
    where datname = ${app.database} and pid <> pg_backend_pid()`.execute(app.owner);
  return async (hours) => {
    await sql`update clock_offset set hours = ${hours}`.execute(app.owner);
    // Throttle buckets that were filled while the clock was ahead would throttle sign-ins until that time.
    await app.owner.deleteFrom("throttle_buckets").execute();
  };
}
