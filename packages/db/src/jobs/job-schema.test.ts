import { sql } from "kysely";
import { expect, onTestFinished, test } from "vitest";
import { createEmptyDatabase } from "../migrate.test-kit.ts";
import { catchCancellation } from "../testing/catch-cancellation.ts";
import { countWaiting } from "../testing/count-waiting.ts";
import { createDatabaseGate } from "../testing/database-gate.ts";
import { migrateJobs } from "./job-schema.ts";

test.each([
  ["Postgres waits for a lock", "statement timeout", false],
  ["the connection is dead and was never closed", "Query read timeout", true],
])(
  "a migration of the queue fails after the timeout of its statements while %s",
  async (_which, message, isDead) => {
    const unmigrated = await createEmptyDatabase();
    const { connection, db } = await createEmptyDatabase();
    const gate = await createDatabaseGate(connection);
    onTestFinished(gate.close);
    gate.open();
    await sql`create schema graphile_worker`.execute(db);
    await sql`create table graphile_worker.migrations (id int primary key, breaking boolean)`.execute(db);
    const holder = await db.startTransaction().execute();
    onTestFinished(async () => void (await holder.rollback().execute()));
    await sql`lock table graphile_worker.migrations`.execute(holder);
    const migrateWhileLocked = async () => {
      const migrated = migrateJobs(unmigrated.db, gate.connection, 5_000);
      migrated.catch(() => undefined); // Reported when the result is awaited.
      await expect.poll(() => countWaiting(db)).toBe(1);
      if (isDead) gate.stall();
      await migrated;
    };
    if (isDead) await expect(migrateWhileLocked()).rejects.toThrow(message);
    else expect(String(await catchCancellation(db, migrateWhileLocked))).toContain(message);
  },
);
