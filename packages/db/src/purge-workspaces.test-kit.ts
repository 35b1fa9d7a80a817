import { sql } from "kysely";
import { expect } from "vitest";
import { Purger } from "./purger.ts";
import type { Db } from "./schema.ts";
import type { TestDatabase } from "./testing/test-database.ts";
import { inWorkspace, type WorkspaceScope } from "./workspace-scope.ts";
import { deleteWorkspace } from "./workspaces.ts";

// What tests of the purge of deleted workspaces share.

export async function removeWorkspace({ db }: TestDatabase, scope: WorkspaceScope): Promise<void> {
  await inWorkspace(db, scope, (trx) => deleteWorkspace(trx, scope, { memberIds: [] }));
}

/** Runs one round of all rules. */
export async function runPurge({ connection }: TestDatabase): Promise<void> {
  const failures: unknown[] = [];
  const purger = new Purger({ connection, onFailure: (error) => failures.push(error) });
  await purger.run();
  await purger.close();
  expect(failures).toEqual([]);
}

/** Runs a rule until it deletes nothing. @returns how many rows each step deleted. */
export async function collectSteps(
  { db }: TestDatabase,
  purgeStep: (db: Db, limit: number) => Promise<number>,
  limit: number,
): Promise<readonly number[]> {
  const steps: number[] = [];
  while (steps.at(-1) !== 0) steps.push(await purgeStep(db, limit));
  return steps;
}

/** As if all deletions had happened an hour earlier. */
export async function passHour({ owner }: TestDatabase): Promise<void> {
  for (const table of ["deleted_workspaces", "deleted_webhooks"])
    await sql`
      update ${sql.table(table)} set deleted_at = deleted_at - interval '1 hour',
        next_purge_at = next_purge_at - interval '1 hour'`.execute(owner);
}
