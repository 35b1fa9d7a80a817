import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { expect, onTestFinished } from "vitest";
import { appendAudit } from "./audit-events.ts";
import type { WebhookId } from "./ids.ts";
import type { DeleteBatch } from "./purge-round.ts";
import { Purger } from "./purger.ts";
import type { Db } from "./schema.ts";
import { openTestPool } from "./testing/test-connection.ts";
import type { TestDatabase } from "./testing/test-database.ts";
import { inWorkspace, type WorkspaceScope, type WorkspaceTrx } from "./workspace-scope.ts";
import { deleteWorkspace } from "./workspaces.ts";

// What tests of the purge of deleted workspaces share.

const origin = { actor: { kind: "command" }, address: null, requestId: null } as const;

export async function addWebhook(
  { owner }: TestDatabase,
  { workspaceId }: WorkspaceScope,
): Promise<WebhookId> {
  const id = randomUUID() as WebhookId; // As in the table.
  await sql`
    insert into webhooks (workspace_id, id, url, secret)
    values (${workspaceId}, ${id}, 'https://example.com', 'x')`.execute(owner);
  return id;
}

export async function addDeliveries(
  { owner }: TestDatabase,
  webhookId: WebhookId,
  count: number,
): Promise<void> {
  await sql`
    insert into webhook_deliveries (workspace_id, id, webhook_id, action)
    select workspace_id, gen_random_uuid(), id, 'webhook.test'
    from webhooks cross join generate_series(1, ${count}::integer) where id = ${webhookId}`.execute(owner);
}

/** Counts the audit events, deliveries and blocked API keys of a workspace, and the records of its deletion. */
export async function countRows(
  { owner }: TestDatabase,
  { workspaceId }: WorkspaceScope,
): Promise<readonly number[]> {
  const { rows } = await sql<Record<string, number>>`
    select
      (select count(*) from audit_events where workspace_id = ${workspaceId}) as events,
      (select count(*) from webhook_deliveries where workspace_id = ${workspaceId}) as deliveries,
      (select count(*) from workspace_key_access where workspace_id = ${workspaceId}) as keys,
      (select count(*) from deleted_workspaces where workspace_id = ${workspaceId}) as records,
      (select count(*) from deleted_webhooks where workspace_id = ${workspaceId}) as webhooks`.execute(owner);
  return Object.values(rows[0] ?? {});
}

/** A second pool, as that of another node. */
export function openOther({ connection }: TestDatabase): Db {
  const db = openTestPool(connection, { applicationName: "latchkey test other" });
  onTestFinished(() => db.destroy());
  return db;
}

/** A point that one side of a test reaches and the other waits for. */
function createGate(): { readonly open: () => void; readonly opened: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { open: resolve, opened: promise };
}

/** Starts a transaction that runs `work` and then stays open until `commit` is called. */
export async function holdOpen(
  database: TestDatabase,
  scope: WorkspaceScope,
  work: (trx: WorkspaceTrx) => Promise<unknown>,
): Promise<{ readonly commit: () => Promise<void> }> {
  const [worked, mayCommit] = [createGate(), createGate()];
  const ended = inWorkspace(openOther(database), scope, async (trx) => {
    await work(trx);
    worked.open();
    await mayCommit.opened;
  });
  // A test that fails must not leave it open, because its database couldn't be dropped.
  onTestFinished(mayCommit.open);
  await Promise.race([worked.opened, ended]);
  return {
    async commit() {
      mayCommit.open();
      await ended;
    },
  };
}

/** Adds an event to the audit log of a workspace. */
export function append(trx: WorkspaceTrx, scope: WorkspaceScope): Promise<void> {
  return appendAudit(trx, scope, origin, { action: "workspace.renamed", targetId: scope.workspaceId });
}

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
  purgeStep: DeleteBatch,
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
