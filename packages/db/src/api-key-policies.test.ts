import { randomBytes, randomUUID } from "node:crypto";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { insertApiKey } from "./api-key-changes.ts";
import { getPolicy, previewPolicy, putPolicy } from "./api-key-policies.ts";
import type { KeyId, UserId } from "./ids.ts";
import { allowsMoreKeys, defaultPolicy } from "./key-policy.ts";
import { defaultSettings, type KeySettings } from "./key-settings.ts";
import { measureSlowness } from "./testing/processor-speed.ts";
import { readProcessorMs } from "./testing/processor-time.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { insertUserWithPassword } from "./users.ts";
import { inWorkspace, type WorkspaceScope } from "./workspace-scope.ts";
import { insertWorkspace } from "./workspaces.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

async function addWorkspace(): Promise<{ readonly userId: UserId; readonly scope: WorkspaceScope }> {
  return await database.db.transaction().execute(async (trx) => {
    const user = { email: `${randomUUID()}@example.com`, name: "Ada", passwordHash: "hash" };
    const userId = (await insertUserWithPassword(trx, user)) as UserId; // No account has this email address.
    const made = await insertWorkspace(trx, { name: "Workspace", slug: randomUUID(), ownerId: userId });
    return { userId, scope: made?.scope as WorkspaceScope }; // No workspace has this slug.
  });
}

async function addKey(userId: UserId, settings: Partial<KeySettings> = {}): Promise<KeyId> {
  const key = { userId, name: "key", description: "", start: "lk_", hash: randomBytes(32) };
  const id = await database.db
    .transaction()
    .execute((trx) => insertApiKey(trx, { ...key, settings: { ...defaultSettings, ...settings } }));
  return id as KeyId; // The user is not disabled.
}

test("a workspace without a policy has the default at version 1, and each change increments the version", async () => {
  const { scope } = await addWorkspace();
  await inWorkspace(database.db, scope, async (trx) => {
    expect(await getPolicy(trx, scope)).toEqual({ ...defaultPolicy, version: 1 });
    const policy = { ...defaultPolicy, maxIdleDays: 30 };
    expect(await putPolicy(trx, scope, policy)).toEqual({ ...policy, version: 2 });
    expect(await putPolicy(trx, scope, defaultPolicy)).toEqual({ ...defaultPolicy, version: 3 });
    expect(await getPolicy(trx, scope)).toEqual({ ...defaultPolicy, version: 3 });
  });
});

test("a preview examines at most the given number of keys, newest first, and reports that it is incomplete", async () => {
  const { userId, scope } = await addWorkspace();
  const ids = [await addKey(userId), await addKey(userId), await addKey(userId)];
  const policy = { ...defaultPolicy, isExpiryRequired: true };
  const preview = async (query: { readonly limit: number; readonly examined?: number }) =>
    await inWorkspace(database.db, scope, (trx) => previewPolicy(trx, scope, { policy, ...query }));
  expect(await preview({ limit: 2 })).toMatchObject({ total: 3, isComplete: true, keys: [{}, {}] });
  expect(await preview({ limit: 10, examined: 3 })).toMatchObject({ total: 3, isComplete: true });
  const cut = await preview({ limit: 10, examined: 2 });
  expect(cut).toMatchObject({ total: 2, isComplete: false });
  expect(new Set(cut.keys.map(({ id }) => id))).toEqual(new Set(ids.slice(1)));
  const allowed = await inWorkspace(database.db, scope, (trx) =>
    previewPolicy(trx, scope, { policy: defaultPolicy, limit: 10, examined: 2 }),
  );
  expect(allowed).toEqual({ keys: [], total: 0, isComplete: false });
});

test("a preview of 10,000 keys takes a bounded time", async () => {
  const { userId, scope } = await addWorkspace();
  await sql`
    insert into api_keys (id, user_id, name, description, start, hash)
    select gen_random_uuid(), ${userId}, 'key', '', 'lk_', sha256(gen_random_uuid()::text::bytea)
    from generate_series(1, 12000)`.execute(database.owner);
  await database.owner.transaction().execute(async (trx) => {
    // Skips the triggers that add the uses to the totals, which the preview doesn't read.
    await sql`set local latchkey.adds_workspace_usage = 'on'`.execute(trx);
    await sql`
      insert into key_usage_hours (key_id, hour, workspace_id, outcome, count)
      select id, hour, ${scope.workspaceId}, 'admitted', 1 from api_keys,
        generate_series(date_trunc('hour', now()) - interval '20 days', now() - interval '15 days', interval '1 day') hour
      where user_id = ${userId}`.execute(trx);
  });
  await sql`update api_keys set created_at = now() - interval '30 days' where user_id = ${userId}`.execute(
    database.owner,
  );
  await sql`update members set created_at = now() - interval '30 days' where user_id = ${userId}`.execute(
    database.owner,
  );
  await sql`analyze api_keys, key_usage_hours`.execute(database.owner);
  const policy = { ...defaultPolicy, maxIdleDays: 10 };
  const { preview, processorMs } = await inWorkspace(database.db, scope, async (trx) => {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(trx);
    const pid = rows[0]?.pid;
    const startMs = readProcessorMs(pid);
    const found = await previewPolicy(trx, scope, { policy, limit: 20 });
    return { preview: found, processorMs: readProcessorMs(pid) - startMs };
  });
  // The product cancels reads after one second. The preview takes a fifth of a second on the reference machine.
  expect(processorMs).toBeLessThan(1_000 * (await measureSlowness()));
  expect(preview).toMatchObject({ total: 10_000, isComplete: false });
  expect(preview.keys[0]).toMatchObject({ violation: "idle", lastUsedAt: expect.any(Date) });
});

test.each([
  [{}, {}, false],
  [{ maxIdleDays: 30 }, { maxIdleDays: 30 }, false],
  [{ maxIdleDays: 30 }, { maxIdleDays: 29 }, false],
  [{ maxIdleDays: 30 }, { maxIdleDays: 31 }, true],
  [{ maxIdleDays: 30 }, {}, true],
  [{}, { maxIdleDays: 30 }, false],
  [{ maxLifetimeDays: 30 }, { maxLifetimeDays: 31 }, true],
  [{ maxLifetimeDays: 30 }, {}, true],
  [{ isExpiryRequired: true }, {}, true],
  [{}, { isExpiryRequired: true }, false],
  [{ areIpRangesRequired: true }, {}, true],
  [{ areIpRangesRequired: true }, { areIpRangesRequired: true, maxIdleDays: 1 }, false],
  [{ areIpRangesRequired: true, maxIdleDays: 2 }, { areIpRangesRequired: true, maxIdleDays: 3 }, true],
])(
  "whether a policy allows more keys is decided by each requirement: %j, then %j",
  (before, after, isLooser) => {
    expect(allowsMoreKeys({ ...defaultPolicy, ...before }, { ...defaultPolicy, ...after })).toBe(isLooser);
  },
);
