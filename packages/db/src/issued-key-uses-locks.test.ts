import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import type { IssuedKeyId, KeyspaceId } from "./ids.ts";
import { deleteIssuedKeys } from "./issued-key-changes.ts";
import { type IssuedSecretHash, replaceUnusedIssuedSecrets } from "./issued-key-secrets.ts";
import { addKeyspace, addWorkspace } from "./issued-keys.test-kit.ts";
import { bumpKeyVersions } from "./key-counters.ts";
import { deleteKeyspace } from "./keyspaces.ts";
import { createKeyspacePurge } from "./purge-keyspaces.ts";
import { countBlockedBy, countWaiting } from "./testing/count-waiting.ts";
import { testClientConfig } from "./testing/test-connection.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { inWorkspace, type WorkspaceScope } from "./workspace-scope.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

/** Keys of a keyspace, in the order of their IDs. */
interface Keys {
  readonly scope: WorkspaceScope;
  readonly keyspaceId: KeyspaceId;
  readonly ids: readonly IssuedKeyId[];
  readonly issued: readonly IssuedSecretHash[];
}

/** Adds 20 keys with unused secrets. A table scan finds their rows in the opposite order of their IDs. */
async function addKeys({ areInUse = true } = {}): Promise<Keys> {
  const scope = await addWorkspace(database.db);
  const keyspaceId = await addKeyspace(database.db, scope);
  const { rows: issued } = await inWorkspace(database.db, scope, (trx) =>
    sql<IssuedSecretHash>`
      insert into issued_keys (workspace_id, keyspace_id, id, hash, start)
      select ${scope.workspaceId}, ${keyspaceId}, id, sha256(id::text::bytea), 'sk_live_abcdef'
      from (select gen_random_uuid() as id from generate_series(1, 20) order by id desc) key
      returning id, hash as "issuedHash"`.execute(trx),
  );
  const ids = issued.map(({ id }) => id).sort();
  await database.owner
    .insertInto("key_counters")
    .values(ids.toReversed().map((key_id) => ({ key_id, has_unused_secret: true })))
    .execute();
  if (areInUse) await sql.raw(addUses(ids)).execute(database.owner);
  return { scope, keyspaceId, ids, issued };
}

/** SQL that adds rows for the uses of keys, as their first uses do. */
const addUses = (ids: readonly IssuedKeyId[]) => `
  insert into issued_key_uses (key_id, version)
  values ${ids.toReversed().map((id) => `('${id}', 1)`)}`;

/** A connection with an open transaction, which ends with the test. */
async function begin(): Promise<pg.Client> {
  const client = new pg.Client(testClientConfig(database.connection, "another transaction"));
  await client.connect();
  onTestFinished(() => client.end());
  await client.query("begin");
  return client;
}

const waiting = (count: number) => expect.poll(() => countWaiting(database.owner)).toBe(count);

const waitingFor = (blocker: pg.Client) => expect.poll(() => countBlockedBy(database.owner, blocker)).toBe(1);

const holdUses = (client: pg.Client, id: IssuedKeyId | undefined) =>
  client.query("select from issued_key_uses where key_id = $1 for update", [id]);

/**
 * Waits until a change of keys waits for the uses of one of them, which `blocker` has locked. Then locks the uses of all keys as the
 * statement that counts them does. Expects that both end.
 */
async function expectNoDeadlock(
  { ids }: Keys,
  { blocker, changing }: { readonly blocker: pg.Client; readonly changing: Promise<unknown> },
): Promise<void> {
  await waitingFor(blocker);
  const counting = (await begin()).query(
    "select from issued_key_uses where key_id = any($1::uuid[]) order by key_id for no key update",
    [ids],
  );
  await waiting(2);
  await blocker.query("commit");
  const [{ rowCount }] = await Promise.all([counting, changing]);
  expect(rowCount).toBe(0); // The change has deleted the rows.
}

test.each<readonly [string, (keys: Keys) => Promise<unknown>]>([
  [
    "a change",
    ({ scope, ids: keyIds }) => inWorkspace(database.db, scope, (trx) => bumpKeyVersions(trx, { keyIds })),
  ],
  [
    "a replacement of unused secrets",
    ({ scope, issued }) => {
      const secrets = issued.map((key) => ({ ...key, hash: randomBytes(32), start: "sk_live_ghijkl" }));
      return inWorkspace(database.db, scope, (trx) => replaceUnusedIssuedSecrets(trx, scope, secrets));
    },
  ],
  [
    "a deletion",
    ({ scope, ids }) => inWorkspace(database.db, scope, (trx) => deleteIssuedKeys(trx, scope, ids)),
  ],
  [
    "a purge",
    async ({ scope, keyspaceId }) => {
      await inWorkspace(database.db, scope, (trx) => deleteKeyspace(trx, scope, keyspaceId, undefined));
      await createKeyspacePurge()(database.db, 100);
    },
  ],
])("%s of many keys and a count of their uses don't deadlock", async (_name, change) => {
  const keys = await addKeys();
  const blocker = await begin();
  await holdUses(blocker, keys.ids[10]);
  await expectNoDeadlock(keys, { blocker, changing: change(keys) });
});

test("rows that first uses add while a change waits for the counters are locked in the same order", async () => {
  const keys = await addKeys({ areInUse: false });
  const { scope, ids: keyIds } = keys;
  const [firstUses, gate, blocker] = [await begin(), await begin(), await begin()];
  const holdCounter = "select from key_counters where key_id = $1 for update";
  await firstUses.query(holdCounter, [keyIds[0]]);
  await gate.query(holdCounter, [keyIds[19]]);
  const changing = inWorkspace(database.db, scope, (trx) => bumpKeyVersions(trx, { keyIds }));
  await waitingFor(firstUses);
  await firstUses.query(addUses(keyIds.slice(0, 19)));
  await firstUses.query("commit");
  // The change has locked the other counters.
  await waitingFor(gate);
  await holdUses(blocker, keyIds[10]);
  await gate.query("commit");
  await expectNoDeadlock(keys, { blocker, changing });
});
