import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { updateKey } from "../src/domain/api-keys.ts";
import { defaultQuotas } from "../src/domain/quotas.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

async function countWaiting(): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(app.owner);
  return rows[0]?.count ?? 0;
}

test("of two concurrent edits of a key, the second includes the first, and neither is lost", async () => {
  const { userId, id } = await app.addKey();
  const { db } = app.instance;
  // Edits as the operator, because an edit by session or key also locks the user, and the test would pass
  // without the lock of the key.
  const edit = { userId, id, origin: commandOrigin };
  const ipRanges = ["203.0.113.0/24"];
  const firstEdit = Promise.withResolvers<void>();
  const commitSignal = Promise.withResolvers<void>();
  const first = db.transaction().execute(async (trx) => {
    await updateKey(trx, edit, { settings: { isReadOnly: true }, mayExpand: false }, defaultQuotas);
    firstEdit.resolve();
    await commitSignal.promise;
  });
  await firstEdit.promise;
  const second = db
    .transaction()
    .execute((trx) => updateKey(trx, edit, { settings: { ipRanges }, mayExpand: false }, defaultQuotas));
  await expect.poll(countWaiting).toBe(1);
  commitSignal.resolve();
  await first;
  expect(await second).toMatchObject({ isReadOnly: true, ipRanges });
});
