import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { explainAll } from "./explain.test-kit.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import {
  deleteOlderVerifications,
  deleteVerifications,
  deleteVerificationsOfBothPurposes,
} from "./verifications.ts";
import type { WorkspaceTrx } from "./workspace-scope.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  // As in a database whose default collation isn't C. The indexes keep their operator classes.
  await sql`
    alter table verifications
      alter column value type text collate "en-US-x-icu",
      alter column identifier type text collate "en-US-x-icu"`.execute(database.owner);
});
afterAll(() => database.drop());

const subject = randomUUID();

test.each<readonly [string, (trx: WorkspaceTrx) => Promise<void>]>([
  ["all tokens", (trx) => deleteVerifications(trx, { purpose: "passkey", subject })],
  [
    "tokens with their records for another purpose",
    (trx) =>
      deleteVerificationsOfBothPurposes(trx, {
        purpose: "emailed-password-reset",
        otherPurpose: "password-reset",
        subject,
      }),
  ],
  ["older tokens", (trx) => deleteOlderVerifications(trx, { purpose: "passkey", subject, keptCount: 10 })],
])("deletes %s of a subject by an index, with any collation", async (_what, run) => {
  const plan = await database.db.transaction().execute(async (trx) => {
    const workspaceTrx = trx as WorkspaceTrx; // The table belongs to no workspace.
    return await explainAll(workspaceTrx, run);
  });
  expect(plan).toContain("verifications_by_value");
  expect(plan).not.toContain("Seq Scan on verifications");
});
