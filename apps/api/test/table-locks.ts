import { testClientConfig } from "@latchkey/db/testing/test-connection";
import pg from "pg";
import { inject, onTestFinished } from "vitest";

/** Runs a statement that locks rows or a table, and holds the locks until the returned function is called. */
export async function holdLocks(
  database: string,
  statement: string,
  values: readonly unknown[] = [],
): Promise<() => Promise<unknown>> {
  const client = new pg.Client({ ...testClientConfig(inject("postgres"), "test locker"), database });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query("begin");
  await client.query(statement, [...values]);
  return () => client.query("commit");
}
