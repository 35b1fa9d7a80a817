import { testClientConfig } from "@latchkey/db/testing/test-connection";
import pg from "pg";
import { connectionTo } from "./postmaster.ts";

/** The clock of a database's statements, which a test can change. */
export interface SteppedClock {
  readonly read: () => Promise<Date>;
  /** Moves the clock forward, or back if the value is negative. */
  readonly step: (minutes: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

/**
 * Creates a `clock_timestamp()` that statements of the database find before Postgres's function. Terminates all
 * connections, so that clients reconnect and use it.
 */
export async function installSteppedClock(cluster: string): Promise<SteppedClock> {
  const client = new pg.Client(testClientConfig(await connectionTo(cluster), "clock"));
  await client.connect();
  await client.query(`
    create table stepped_clock (off_by interval not null);
    insert into stepped_clock values ('0');
    grant select on stepped_clock to public;
    create function public.clock_timestamp() returns timestamptz language sql volatile
    as 'select pg_catalog.clock_timestamp() + off_by from public.stepped_clock';
    do $$ begin
      execute format('alter database %I set search_path = public, pg_catalog', current_database());
    end $$;
    set search_path = public, pg_catalog;
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid();`);
  return {
    async read() {
      const { rows } = await client.query<{ now: Date }>("select clock_timestamp() as now");
      return rows[0]?.now ?? new Date(Number.NaN);
    },
    async step(minutes) {
      await client.query("update stepped_clock set off_by = off_by + $1 * interval '1 minute'", [minutes]);
    },
    close: () => client.end(),
  };
}
