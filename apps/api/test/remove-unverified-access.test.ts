// The transaction that deletes all keys of an account is bounded, although each workspace records each key.

import type { KeyId, UserId, WorkspaceId } from "@latchkey/db/ids";
import { lockUsers } from "@latchkey/db/members";
import { readProcessorMs } from "@latchkey/db/testing/processor-time";
import { sql } from "kysely";
import { expect, onTestFinished, test } from "vitest";
import { defaultQuotas } from "../src/domain/quotas.ts";
import { removeUnverifiedAccess } from "../src/domain/remove-unverified-access.ts";
import { countStatements } from "./count-statements.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

/**
 * Adds a user with this many keys, and as many workspaces as the quota allows. The first three workspaces have as many webhooks as
 * the quota allows, of which all except one get deleted keys.
 */
async function addLargeAccount(app: TestApp, keyCount: number) {
  const { userId } = await app.addUser();
  const { workspacesPerUser, webhooksPerWorkspace } = defaultQuotas;
  await sql`delete from workspaces`.execute(app.owner); // The one that was created with the account.
  const { rows: workspaces } = await sql<{ id: WorkspaceId }>`
    with added as (
      insert into workspaces (id, slug, name)
      select gen_random_uuid(), 'w-' || n, 'Workspace ' || n from generate_series(1, ${workspacesPerUser}::int) n
      returning id
    ), joined as (
      insert into members (workspace_id, user_id, role) select id, ${userId}, 'owner' from added
    )
    select id from added order by id`.execute(app.owner);
  const { rows: keys } = await sql<{ id: KeyId }>`
    with added as (
      insert into api_keys (id, user_id, name, description, start, hash)
      select gen_random_uuid(), ${userId}, 'Key ' || n, '', 'lk_' || n, sha256(n::text::bytea)
      from generate_series(1, ${keyCount}::int) n
      returning id
    ), counted as (
      insert into key_counters (key_id) select id from added
    )
    select id from added order by id`.execute(app.owner);
  const second = workspaces[1]?.id;
  const [selective, isolated] = keys.map(({ id }) => id);
  if (!second || !selective || !isolated) throw new Error("The account is too small.");
  await sql`update api_keys set workspace_ids = array[${second}::uuid] where id = ${selective}`.execute(
    app.owner,
  );
  await sql`update api_keys set workspace_ids = '{}' where id = ${isolated}`.execute(app.owner);
  await sql`
    insert into webhooks (workspace_id, id, url, description, actions, secret)
    select workspace_id, gen_random_uuid(), 'https://example.com', '',
      array[case n when 1 then 'key.created' else 'key.deleted' end], ''
    from unnest(${workspaces.slice(0, 3).map(({ id }) => id)}::uuid[]) as workspace_id,
      generate_series(1, ${webhooksPerWorkspace}::int) n`.execute(app.owner);
  return { userId, keys: keys.map(({ id }) => id), workspaces: workspaces.map(({ id }) => id), selective };
}

/**
 * Removes the access of a user. Returns the number of statements, and the processor time in milliseconds that Postgres needs for them.
 */
async function removeAccess(app: TestApp, userId: UserId) {
  const actor = { kind: "session", userId, isRecentlyAuthenticated: true } as const;
  const origin = { actor, address: "192.0.2.1", requestId: "req", userAgent: "Firefox" };
  let processorMs = 0;
  const statements = await countStatements(app.services.db, (db) =>
    db.transaction().execute(async (trx) => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(trx);
      const before = readProcessorMs(rows[0]?.pid);
      await lockUsers(trx, [userId]);
      await removeUnverifiedAccess(trx, userId, origin);
      processorMs = readProcessorMs(rows[0]?.pid) - before;
    }),
  );
  return { statements, processorMs };
}

/** Removes the access of a user with this many keys, in a database without other users. */
async function removeLargeAccount(keyCount: number) {
  const app = await startTestApp();
  onTestFinished(() => app.close());
  const account = await addLargeAccount(app, keyCount);
  return { app, ...account, ...(await removeAccess(app, account.userId)) };
}

test("deletes as many keys in as many workspaces as the quotas allow, with few statements, and records each deletion", async () => {
  const { keysPerUser } = defaultQuotas;
  const few = await removeLargeAccount(keysPerUser / 10);
  const { app, userId, keys, workspaces, selective, statements, processorMs } =
    await removeLargeAccount(keysPerUser);
  // Ten times as many keys take seven times as much processor time. If the jobs were added one at a time, they would take thirty times
  // as much, and a minute, because each search for a job with the same key would read all of them.
  expect(processorMs).toBeLessThan(15 * few.processorMs);
  expect(statements).toBeLessThan(3 * workspaces.length);

  const { rows: audited } = await sql<{ workspaceId: WorkspaceId; count: number }>`
    select workspace_id as "workspaceId", count(distinct target_id)::int as count from audit_events
    where action = 'key.deleted' and actor_user_id = ${userId} and address = '192.0.2.1' and request_id = 'req'
      and before->>'name' = (select name from api_keys where id = target_id and deleted_at is not null)
    group by 1 order by 1`.execute(app.owner);
  const everywhere = keys.length - 2; // One key reaches one workspace, and another one reaches none.
  expect(audited).toEqual(
    workspaces.map((workspaceId, index) => ({ workspaceId, count: everywhere + (index === 1 ? 1 : 0) })),
  );
  const { rows: selected } = await sql`
    select workspace_id from audit_events where target_id = ${selective}`.execute(app.owner);
  expect(selected).toEqual([{ workspace_id: workspaces[1] }]);
  const { rows: logged } = await sql`
    select count(distinct key_id)::int as count, min(user_agent) as "userAgent" from security_events
    where user_id = ${userId} and action = 'key.deleted'`.execute(app.owner);
  expect(logged).toEqual([{ count: keys.length, userAgent: "Firefox" }]);

  const { rows: deliveries } = await sql`
    select delivery.workspace_id as "workspaceId", count(distinct event.target_id)::int as deliveries, count(distinct job.key)::int as jobs
    from webhook_deliveries delivery
    join audit_events event on event.workspace_id = delivery.workspace_id and event.id = delivery.event_id
    join graphile_worker.jobs job on job.key = delivery.id::text and job.queue_name = delivery.webhook_id::text
    where delivery.action = 'key.deleted'
    group by delivery.workspace_id, delivery.webhook_id order by 1`.execute(app.owner);
  const expected = audited.slice(0, 3).flatMap(({ workspaceId, count }) => {
    const complete = { workspaceId, deliveries: count, jobs: count };
    return Array.from({ length: defaultQuotas.webhooksPerWorkspace - 1 }, () => complete);
  });
  expect(deliveries).toEqual(expected);
});
