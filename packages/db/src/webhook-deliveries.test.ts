import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { addWorkspace } from "./issued-keys.test-kit.ts";
import { addWebhook } from "./purge-workspaces.test-kit.ts";
import type { DeliveryStatus } from "./schema/webhooks.ts";
import { countReads } from "./testing/count-reads.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { listDeliveries } from "./webhook-deliveries.ts";
import { inWorkspace } from "./workspace-scope.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

test("a page of deliveries with a rare status reads only the deliveries that it shows", async () => {
  const scope = await addWorkspace(database.db);
  const statuses = ["pending", "succeeded", "failed"] as const;
  const read = async (webhookId: Awaited<ReturnType<typeof addWebhook>>, status?: DeliveryStatus) =>
    await inWorkspace(database.db, scope, async (trx) => {
      const filter = { webhookId, status };
      const page = { sort: "createdAt", direction: "asc", limit: 21, after: undefined, filter } as const;
      const { result, rows } = await countReads(trx, ["webhook_deliveries"], () =>
        listDeliveries(trx, scope, page),
      );
      return { shown: result.length, read: rows };
    });
  const webhooks = [];
  for (const [index, frequent] of statuses.entries()) {
    const webhookId = await addWebhook(database, scope);
    const rare = statuses[(index + 1) % 3];
    await sql`
      insert into webhook_deliveries (workspace_id, id, webhook_id, action, created_at, status)
      select ${scope.workspaceId}, gen_random_uuid(), ${webhookId}, 'key.created', now() - n * interval '1 minute',
        case when n % 1000 = 500 then ${rare} else ${frequent} end
      from generate_series(1, 10000) n`.execute(database.owner);
    webhooks.push({ webhookId, frequent, rare });
  }
  await sql`analyze webhook_deliveries`.execute(database.owner);
  for (const { webhookId, frequent, rare } of webhooks) {
    expect(await read(webhookId)).toEqual({ shown: 21, read: 21 });
    expect(await read(webhookId, frequent)).toEqual({ shown: 21, read: 21 });
    expect(await read(webhookId, rare)).toEqual({ shown: 10, read: 10 });
    const [absent] = statuses.filter((status) => status !== frequent && status !== rare);
    expect(await read(webhookId, absent)).toEqual({ shown: 0, read: 0 });
  }
});
