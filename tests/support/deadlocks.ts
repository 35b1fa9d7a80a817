import { testClientConfig } from "@latchkey/db/testing/test-connection";
import pg from "pg";
import { connectionTo, eventually } from "./postmaster.ts";

/** Counts the deadlocks that the embedded Postgres of a cluster detects. */
export interface DeadlockWatch {
  /**
   * Returns the number of deadlocks since the start. Terminates all connections of the nodes, which then reconnect.
   */
  readonly finish: () => Promise<number>;
  readonly close: () => Promise<void>;
}

/**
 * Sets `deadlock_timeout` to 20 ms. Admission stops waiting for a lock after 100 ms, long before Postgres checks for
 * deadlocks by default.
 */
export async function watchDeadlocks(cluster: string): Promise<DeadlockWatch> {
  const client = new pg.Client(testClientConfig(await connectionTo(cluster), "deadlock watch"));
  await client.connect();
  const read = async (question: string): Promise<unknown> =>
    (await client.query<{ answer: unknown }>(question)).rows[0]?.answer;
  const readDeadlocks = async (): Promise<number> =>
    Number(await read("select deadlocks as answer from pg_stat_database where datname = current_database()"));

  await client.query("alter system set deadlock_timeout = '20ms'");
  await client.query("select pg_reload_conf()");
  const hasNewTimeout = async (): Promise<boolean> =>
    (await read("select current_setting('deadlock_timeout') as answer")) === "20ms";
  await eventually("Postgres looks for deadlocks after 20 ms", hasNewTimeout);
  const before = await readDeadlocks();
  return {
    async finish() {
      // A connection reports its counts with a delay, but immediately when it ends.
      const others =
        "datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'";
      const { rows } = await client.query<{ pid: number }>(
        `select pid, pg_terminate_backend(pid) from pg_stat_activity where ${others}`,
      );
      const haveEnded = `select count(*) = 0 as answer from pg_stat_activity where pid in (${rows.map(({ pid }) => pid).join() || "0"})`;
      await eventually("the nodes' connections have ended", async () => (await read(haveEnded)) === true);
      return (await readDeadlocks()) - before;
    },
    close: () => client.end(),
  };
}
