import { randomBytes, randomUUID } from "node:crypto";
import { sql } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { insertApiKey } from "./api-key-changes.ts";
import { createId, type KeyId, type UserId, type WorkspaceId } from "./ids.ts";
import {
  findRejectionsOfMember,
  listKeyAddresses,
  listKeyRejections,
  readKeyUsage,
  type UsagePeriod,
} from "./key-history.ts";
import { type PruneCursor, pruneKeyHistory } from "./prune-key-history.ts";
import type { Db } from "./schema.ts";
import { countWaiting } from "./testing/count-waiting.ts";
import { measureSlowest } from "./testing/measure-slowest.ts";
import { openTestPool, testClientConfig } from "./testing/test-connection.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { insertUserWithPassword } from "./users.ts";
import { asUser, type UserTrx } from "./workspace-scope.ts";
import { type KeyHistory, writeKeyHistory } from "./write-key-history.ts";

let database: TestDatabase;
/** Two nodes. */
let nodes: readonly [Db, Db];
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  nodes = [openNode(), openNode()];
});
afterAll(async () => {
  for (const node of nodes) await node.destroy();
  await database.drop();
});

function openNode(): Db {
  return openTestPool(database.connection, { role: "latchkey_admission", applicationName: "statistics" });
}

async function addUser(): Promise<UserId> {
  const user = { email: `${randomUUID()}@example.com`, name: "Somebody", passwordHash: "hash" };
  return (await database.db.transaction().execute((trx) => insertUserWithPassword(trx, user))) as UserId; // No account has this email address.
}

async function addKey(userId: UserId, name = "key"): Promise<KeyId> {
  const key = { userId, name, description: "", start: "lk_abcdef", hash: randomBytes(32) };
  return (await database.db.transaction().execute((trx) => insertApiKey(trx, key))) as KeyId; // The user is not disabled.
}

async function addOldSecret(keyId: KeyId): Promise<Buffer> {
  const hash = randomBytes(32);
  const row = { hash, key_id: keyId, start: "lk_abcdef", good_until: new Date() };
  await database.owner.insertInto("retired_secrets").values(row).execute();
  return hash;
}

async function write(history: Partial<KeyHistory>, node = nodes[0]): Promise<void> {
  await writeKeyHistory(node, { usage: [], addresses: [], rejections: [], secrets: [], ...history });
}

const noon = new Date("2026-03-02T12:00:00Z");

function used(keyId: KeyId, row: Partial<KeyHistory["usage"][number]> = {}): KeyHistory["usage"][number] {
  return { keyId, hour: noon, workspaceId: null, outcome: "admitted", count: 1, ...row };
}

function rejected(
  keyId: KeyId,
  row: Partial<KeyHistory["rejections"][number]> = {},
): KeyHistory["rejections"][number] {
  return {
    keyId,
    id: createId("keyRejection"),
    occurredAt: noon,
    address: "192.0.2.1",
    method: "GET",
    path: "/open/members",
    requestId: randomUUID(),
    reason: "deleted",
    ...row,
  };
}

async function read(userId: UserId, period: Partial<UsagePeriod> & { readonly keyId: KeyId }) {
  const all = {
    from: new Date("2026-01-01"),
    to: new Date("2027-01-01"),
    bucket: "hour",
    limit: 1_000,
    ...period,
  } as const;
  return await asUser(database.db, userId, (trx) => readKeyUsage(trx, all));
}

/** Locks rows with a statement. Returns a function that releases them. */
async function hold(statement: string, values: unknown[]): Promise<() => Promise<void>> {
  const blocker = new pg.Client(testClientConfig(database.connection, "blocker"));
  await blocker.connect();
  onTestFinished(() => blocker.end());
  await blocker.query("begin");
  await blocker.query(statement, values);
  return async () => {
    await blocker.query("commit");
  };
}

test("adds up concurrent writes of two nodes over several flushes and in opposite orders", async () => {
  const userId = await addUser();
  const keyIds = await Promise.all(Array.from({ length: 40 }, () => addKey(userId)));
  const rows = keyIds.flatMap((keyId) => [used(keyId), used(keyId, { outcome: "limited", count: 2 })]);
  for (let round = 0; round < 10; round += 1)
    await Promise.all([write({ usage: rows }), write({ usage: rows.toReversed() }, nodes[1])]);
  for (const keyId of keyIds) {
    expect(await read(userId, { keyId })).toEqual([
      { startsAt: noon, workspaceId: null, outcome: "admitted", count: 20 },
      { startsAt: noon, workspaceId: null, outcome: "limited", count: 40 },
    ]);
  }
});

test("accepts the same row twice in one flush", async () => {
  const userId = await addUser();
  const keyId = await addKey(userId);
  const hash = await addOldSecret(keyId);
  const digest = hash.toString("base64");
  const late = new Date(noon.getTime() + 1_000);
  const address = { keyId, address: "192.0.2.1", lastSeenAt: noon };
  const mark = { digest, usedAt: noon, rejectedAt: noon, rejectedAddress: "192.0.2.1" };
  await write({
    usage: [used(keyId), used(keyId, { count: 2 })],
    addresses: [{ ...address, lastSeenAt: late }, address],
    secrets: [{ ...mark, usedAt: late }, { ...mark, rejectedAt: late, rejectedAddress: "192.0.2.2" }, mark],
  });
  expect(await read(userId, { keyId })).toMatchObject([{ count: 3 }]);
  expect(await listKeyAddresses(database.db, keyId)).toEqual([{ address: "192.0.2.1", lastSeenAt: late }]);
  expect(await readSecret(hash)).toEqual({
    last_used_at: late,
    refused_at: late,
    refused_address: "192.0.2.2",
  });
});

test("keeps the last five addresses of a key, with the latest time of each", async () => {
  const keyId = await addKey(await addUser());
  const other = await addKey(await addUser());
  const at = (minute: number) => new Date(noon.getTime() + minute * 60_000);
  await write({ addresses: [{ keyId: other, address: "192.0.2.0", lastSeenAt: at(0) }] });
  for (const minute of [3, 1, 4, 7, 5, 9, 2, 6])
    await write({ addresses: [{ keyId, address: `192.0.2.${minute}`, lastSeenAt: at(minute) }] });
  await write({ addresses: [{ keyId, address: "192.0.2.5", lastSeenAt: at(10) }] });
  await write({ addresses: [{ keyId, address: "192.0.2.5", lastSeenAt: at(8) }] }, nodes[1]);
  const kept = [
    [5, 10],
    [9, 9],
    [7, 7],
    [6, 6],
    [4, 4],
  ] as const;
  expect(await listKeyAddresses(database.db, keyId)).toEqual(
    kept.map(([end, minute]) => ({ address: `192.0.2.${end}`, lastSeenAt: at(minute) })),
  );
  const { rows } = await sql`select from key_addresses where key_id = ${keyId}`.execute(database.owner);
  expect(rows).toHaveLength(5);
  expect(await listKeyAddresses(database.db, other)).toHaveLength(1);
});

test("keeps the last 100 rejected requests of a key, newest first, without duplicates", async () => {
  const [keyId, other] = [await addKey(await addUser()), await addKey(await addUser())];
  const rows = Array.from({ length: 130 }, (_, index) => rejected(keyId, { path: `/open/${index}` })).sort(
    (one, two) => (one.id < two.id ? -1 : 1),
  );
  const kept = rejected(other);
  await write({ rejections: [kept, ...rows.slice(0, 90)] });
  await write({ rejections: rows.slice(80) }, nodes[1]);
  const newest = rows
    .slice(30)
    .toReversed()
    .map(({ keyId: _, ...rejection }) => rejection);
  expect(await listKeyRejections(database.db, keyId)).toEqual(newest);
  const { rows: stored } = await sql`select from key_refusals where key_id = ${keyId}`.execute(
    database.owner,
  );
  expect(stored).toHaveLength(100);
  expect(await listKeyRejections(database.db, other)).toMatchObject([{ id: kept.id }]);
});

async function readSecret(hash: Buffer) {
  return await database.owner
    .selectFrom("retired_secrets")
    .select(["last_used_at", "refused_at", "refused_address"])
    .where("hash", "=", hash)
    .executeTakeFirst();
}

const unmarked = { usedAt: null, rejectedAt: null, rejectedAddress: null };

test("an old secret keeps the latest times, whichever node writes first", async () => {
  const hash = await addOldSecret(await addKey(await addUser()));
  const none = { ...unmarked, digest: hash.toString("base64") };
  const later = new Date(noon.getTime() + 60_000);
  await write({ secrets: [{ ...none, usedAt: later }] });
  expect(await readSecret(hash)).toEqual({ last_used_at: later, refused_at: null, refused_address: null });
  await write({ secrets: [{ ...none, rejectedAt: later, rejectedAddress: "192.0.2.2" }] });
  await write(
    { secrets: [{ ...none, usedAt: noon, rejectedAt: noon, rejectedAddress: "192.0.2.1" }] },
    nodes[1],
  );
  expect(await readSecret(hash)).toEqual({
    last_used_at: later,
    refused_at: later,
    refused_address: "192.0.2.2",
  });
});

// Two transactions that lock the same rows in the same order wait for each other but can't deadlock.
test.for<
  [table: string, column: string, addRow: (keyId: KeyId) => Promise<{ id: string; row: Partial<KeyHistory> }>]
>([
  ["key_usage_hours", "key_id", async (keyId) => ({ id: keyId, row: { usage: [used(keyId)] } })],
  [
    "key_addresses",
    "key_id",
    async (keyId) => ({
      id: keyId,
      row: { addresses: [{ keyId, address: "192.0.2.1", lastSeenAt: noon }] },
    }),
  ],
  [
    "retired_secrets",
    "hash",
    async (keyId) => {
      const hash = await addOldSecret(keyId);
      const secret = { ...unmarked, digest: hash.toString("base64"), usedAt: noon };
      return { id: `\\x${hash.toString("hex")}`, row: { secrets: [secret] } };
    },
  ],
])("rows of %s are locked in the order of their %s, whatever the plan", async ([table, column, addRow]) => {
  await disableOrderedPlans();
  const userId = await addUser();
  const additions = await Promise.all(Array.from({ length: 40 }, async () => addRow(await addKey(userId))));
  const ids = additions.map(({ id }) => id).sort();
  const history = merge(additions.map(({ row }) => row));
  const node = openNode();
  onTestFinished(() => node.destroy());
  await write(history, node);
  const release = await hold(`select from ${table} where ${column} = $1 for update`, [ids[20]]);
  const writing = write(history, node);
  await expect.poll(() => countWaiting(database.owner), { interval: 10 }).toBe(1);
  const { rows: free } = await sql<{ id: string }>`
    select ${sql.ref(column)}::text as id from ${sql.table(table)}
    where ${sql.ref(column)}::text = any(${ids}) for update skip locked`.execute(database.owner);
  expect(free.map(({ id }) => id).sort()).toEqual(ids.slice(21));
  await release();
  await writing;
});

/** Makes new connections use plans that preserve no order by themselves, until the test ends. */
async function disableOrderedPlans(): Promise<void> {
  const name = sql.ref(database.connection.database);
  for (const setting of ["enable_sort", "enable_seqscan", "enable_hashjoin", "enable_mergejoin"]) {
    await sql`alter database ${name} set ${sql.ref(setting)} = off`.execute(database.owner);
    onTestFinished(async () => {
      await sql`alter database ${name} reset ${sql.ref(setting)}`.execute(database.owner);
    });
  }
}

function merge(histories: readonly Partial<KeyHistory>[]): Partial<KeyHistory> {
  return {
    usage: histories.flatMap(({ usage = [] }) => usage),
    addresses: histories.flatMap(({ addresses = [] }) => addresses),
    secrets: histories.flatMap(({ secrets = [] }) => secrets),
  };
}

test("rows that another node has locked are skipped when surplus rows are deleted", async () => {
  const keyId = await addKey(await addUser());
  const rows = Array.from({ length: 100 }, () => rejected(keyId)).sort((one, two) =>
    one.id < two.id ? -1 : 1,
  );
  await write({ rejections: rows });
  const release = await hold("select from key_refusals where id = $1 for update", [rows[0]?.id]);
  await write({ rejections: [rejected(keyId), rejected(keyId)] });
  const count = async () =>
    (await sql`select from key_refusals where key_id = ${keyId}`.execute(database.owner)).rows.length;
  expect(await count()).toBe(101);
  await release();
  await write({ rejections: [rejected(keyId)] });
  expect(await count()).toBe(100);
});

test("writes all rows of a flush or none", async () => {
  const userId = await addUser();
  const keyId = await addKey(userId);
  await expect(
    write({ usage: [used(keyId)], rejections: [rejected(keyId, { path: "\0" })] }),
  ).rejects.toThrow();
  expect(await read(userId, { keyId })).toEqual([]);
});

test("does not wait long for a row that another transaction locks", async () => {
  const keyId = await addKey(await addUser());
  await write({ usage: [used(keyId)] });
  const release = await hold("select from key_usage_hours where key_id = $1 for update", [keyId]);
  const startedAt = performance.now();
  const stopMeasuring = measureSlowest(() => sql`select`.execute(database.owner));
  await expect(write({ usage: [used(keyId)] })).rejects.toThrow("lock timeout");
  const tookMs = performance.now() - startedAt;
  expect(tookMs).toBeLessThan(1_500 + (await stopMeasuring()));
  await release();
});

test("reads hours and days in UTC between two times, per workspace or added up", async () => {
  const userId = await addUser();
  const keyId = await addKey(userId);
  const workspaceId = randomUUID() as WorkspaceId; // It needs no row in workspaces.
  const at = (time: string) => new Date(`2026-03-${time}:00:00Z`);
  await write({
    usage: [
      used(keyId, { hour: at("01T23"), count: 1 }),
      used(keyId, { hour: at("02T00"), count: 2 }),
      used(keyId, { hour: at("02T23"), count: 4 }),
      used(keyId, { hour: at("02T23"), count: 8, workspaceId }),
      used(keyId, { hour: at("02T23"), count: 16, workspaceId, outcome: "no-permission" }),
      used(keyId, { hour: at("03T00"), count: 32 }),
    ],
  });
  const period = { keyId, from: at("02T00"), to: at("03T00") };
  // In whatever time zone the database is configured for.
  await sql`alter database ${sql.ref(database.connection.database)} set timezone = 'Asia/Kathmandu'`.execute(
    database.owner,
  );
  const elsewhere = openTestPool(database.connection, { applicationName: "elsewhere" });
  onTestFinished(() => elsewhere.destroy());
  const readThere = (bucket: UsagePeriod["bucket"]) =>
    asUser(elsewhere, userId, (trx) => readKeyUsage(trx, { ...period, bucket, limit: 1_000 }));
  expect(await readThere("hour")).toEqual([
    { startsAt: at("02T00"), workspaceId: null, outcome: "admitted", count: 2 },
    { startsAt: at("02T23"), workspaceId, outcome: "admitted", count: 8 },
    { startsAt: at("02T23"), workspaceId, outcome: "no-permission", count: 16 },
    { startsAt: at("02T23"), workspaceId: null, outcome: "admitted", count: 4 },
  ]);
  expect(await readThere("day")).toEqual([
    { startsAt: at("02T00"), workspaceId, outcome: "admitted", count: 8 },
    { startsAt: at("02T00"), workspaceId, outcome: "no-permission", count: 16 },
    { startsAt: at("02T00"), workspaceId: null, outcome: "admitted", count: 6 },
  ]);
});

test("only the owner of a key sees its rows, a transaction without a user sees none, and the tenant role can't write them", async () => {
  const [userId, stranger] = [await addUser(), await addUser()];
  const keyId = await addKey(userId);
  await write({ usage: [used(keyId)] });
  expect(await read(userId, { keyId })).toHaveLength(1);
  expect(await read(stranger, { keyId })).toEqual([]);
  const forgetful = (trx: Db) => trx.selectFrom("key_usage_hours").selectAll().execute();
  expect(await asUser(database.db, stranger, forgetful)).toEqual([]);
  expect(await forgetful(database.db)).toEqual([]);
  const period = { keyId, from: new Date(0), to: new Date(), bucket: "hour", limit: 1_000 } as const;
  const unnamed = database.db.transaction().execute((trx) => readKeyUsage(trx as UserTrx, period)); // It names none.
  expect(await unnamed).toEqual([]);
  for (const table of ["key_usage_hours", "key_addresses", "key_refusals"])
    await expect(sql`delete from ${sql.table(table)}`.execute(database.db)).rejects.toThrow(
      "permission denied",
    );
});

test("explains a rejected request only to the owner of its key, even after the key was deleted", async () => {
  const [userId, stranger] = [await addUser(), await addUser()];
  const [keyId, foreign] = [await addKey(userId, "mine"), await addKey(stranger, "theirs")];
  const requestId = randomUUID();
  const rejection = rejected(keyId, { requestId });
  await write({ rejections: [rejection, rejected(keyId), rejected(foreign, { requestId })] });
  await database.owner
    .updateTable("api_keys")
    .set({ deleted_at: new Date() })
    .where("id", "=", keyId)
    .execute();
  const find = (reader: UserId) =>
    asUser(database.db, reader, (trx) => findRejectionsOfMember(trx, reader, requestId));
  expect(await find(userId)).toEqual([
    {
      ...rejection,
      ...{ keyName: "mine", isKeyDeleted: true },
      ...{ ownerId: userId, ownerName: expect.any(String), ownerKind: "person", serviceWorkspaceId: null },
    },
  ]);
  expect(await find(stranger)).toMatchObject([{ keyName: "theirs", isKeyDeleted: false }]);
  expect(await find(await addUser())).toEqual([]);
});

test("finds a rejected request with a service account's key only for members of the workspace", async () => {
  const [member, stranger, serviceAccount] = [await addUser(), await addUser(), await addUser()];
  const [workspaceId, otherId] = [createId("workspace"), createId("workspace")];
  for (const id of [workspaceId, otherId])
    await sql`insert into workspaces (id, name, slug) values (${id}, 'Acme', ${id})`.execute(database.owner);
  await sql`update users set service_workspace_id = ${workspaceId} where id = ${serviceAccount}`.execute(
    database.owner,
  );
  await database.owner
    .insertInto("members")
    .values([
      { workspace_id: workspaceId, user_id: member, role: "viewer" },
      { workspace_id: otherId, user_id: stranger, role: "owner" },
    ])
    .execute();
  const rejection = rejected(await addKey(serviceAccount), { requestId: randomUUID() });
  await write({ rejections: [rejection] });
  const find = (reader: UserId) =>
    asUser(database.db, reader, (trx) => findRejectionsOfMember(trx, reader, rejection.requestId));
  expect(await find(member)).toMatchObject([
    {
      ...rejection,
      ...{ ownerId: serviceAccount, ownerKind: "service_account", serviceWorkspaceId: workspaceId },
    },
  ]);
  expect(await find(stranger)).toEqual([]);
});

/** A time this many days and minutes ago. */
function ago(days: number, minutes = 0): Date {
  return new Date(Date.now() - days * 86_400_000 - minutes * 60_000);
}

async function listHours(keyId: KeyId): Promise<Date[]> {
  const rows = await database.owner
    .selectFrom("key_usage_hours")
    .select("hour")
    .where("key_id", "=", keyId)
    .orderBy("hour")
    .execute();
  return rows.map(({ hour }) => hour);
}

test("prunes at most the given number of hours, oldest first, and keeps the rest", async () => {
  const keyId = await addKey(await addUser());
  await sql`truncate key_usage_hours, workspace_usage_hours, workspace_key_days`.execute(database.owner);
  // Hours are kept until their UTC day is too old.
  const startOfDay = Math.floor(ago(30).getTime() / 86_400_000) * 86_400_000;
  const hours = [ago(40), ago(33), ago(32), new Date(startOfDay - 3_600_000), new Date(startOfDay), ago(1)];
  await write({ usage: hours.map((hour) => used(keyId, { hour })).toReversed() });
  const step = { keepDays: 30, maxHours: 3 };
  expect(await pruneKeyHistory(nodes[0], step)).toMatchObject({ hours: 3 });
  expect(await listHours(keyId)).toEqual(hours.slice(3));
  expect(await pruneKeyHistory(nodes[0], step)).toMatchObject({ hours: 1 });
  expect(await pruneKeyHistory(nodes[0], step)).toMatchObject({ hours: 0 });
  expect(await listHours(keyId)).toEqual(hours.slice(4));
});

test("keeps the hour of a key's last use in a workspace until the key is idle there", async () => {
  await sql`truncate key_usage_hours, workspace_usage_hours, workspace_key_days`.execute(database.owner);
  const userId = await addUser();
  const [keyId, deletedId] = [await addKey(userId), await addKey(userId)];
  const deleted = database.owner.updateTable("api_keys").set({ deleted_at: ago(29) });
  await deleted.where("id", "=", deletedId).execute();
  const addWorkspace = async (maxIdleDays: number | null): Promise<WorkspaceId> => {
    const id = createId("workspace");
    await sql`insert into workspaces (id, name, slug) values (${id}, 'Acme', ${id})`.execute(database.owner);
    const policy = { workspace_id: id, max_idle_days: maxIdleDays };
    await database.owner.insertInto("api_key_policies").values(policy).execute();
    return id;
  };
  const [workspaceId, ...others] = [await addWorkspace(45), await addWorkspace(39), await addWorkspace(null)];
  const [last, earlier] = [ago(40), ago(41)];
  const hours = [
    ...[earlier, last].map((hour) => ({ keyId, hour, workspaceId, outcome: "admitted" })),
    { keyId, hour: ago(35), workspaceId, outcome: "limited" },
    { keyId: deletedId, hour: last, workspaceId, outcome: "admitted" },
    ...[...others, null].map((id) => ({ keyId, hour: last, workspaceId: id, outcome: "admitted" })),
  ];
  for (const { keyId: id, hour, workspaceId: place, outcome } of hours)
    await sql`
      insert into key_usage_hours (key_id, hour, workspace_id, outcome, count)
      values (${id}, ${hour}, ${place}, ${outcome}, 1)`.execute(database.owner);
  const listKept = async () => {
    const { rows } = await sql`
      select key_id as "keyId", hour, workspace_id as "workspaceId", outcome from key_usage_hours
      order by hour`.execute(database.owner);
    return rows;
  };
  await pruneKeyHistory(nodes[0], { keepDays: 30 });
  expect(await listKept()).toEqual([{ keyId, hour: last, workspaceId, outcome: "admitted" }]);
  const recent = { keyId, hour: ago(1), workspaceId, outcome: "admitted" };
  await sql`
    insert into key_usage_hours (key_id, hour, workspace_id, outcome, count)
    values (${keyId}, ${recent.hour}, ${workspaceId}, 'admitted', 1)`.execute(database.owner);
  await pruneKeyHistory(nodes[0], { keepDays: 30 });
  expect(await listKept()).toEqual([recent]);
});

test("visits hours that it keeps once, and deletes later hours and the rows of other tables", async () => {
  await sql`truncate key_usage_hours, workspace_usage_hours, workspace_key_days`.execute(database.owner);
  const userId = await addUser();
  const workspaceId = createId("workspace");
  await sql`insert into workspaces (id, name, slug) values (${workspaceId}, 'Acme', ${workspaceId})`.execute(
    database.owner,
  );
  const policy = { workspace_id: workspaceId, max_idle_days: 90 };
  await database.owner.insertInto("api_key_policies").values(policy).execute();
  const lastUse = ago(40);
  const idleKeyIds: KeyId[] = [];
  for (let count = 0; count < 5; count += 1) idleKeyIds.push(await addKey(userId));
  const keyId = await addKey(userId);
  const deletable = [lastUse, ago(39), ago(38)];
  await write({
    usage: [
      ...idleKeyIds.map((id) => used(id, { hour: lastUse, workspaceId })),
      ...deletable.map((hour) => used(keyId, { hour })),
    ],
  });
  let after: PruneCursor | undefined;
  let steps = 0;
  do {
    ({ next: after } = await pruneKeyHistory(nodes[0], { keepDays: 30, maxHours: 2, after }));
    steps += 1;
  } while (after && steps < 10);
  // Eight hours in steps of two, and a step that finds no more.
  expect(steps).toBe(5);
  expect(await listHours(keyId)).toEqual([]);
  for (const id of idleKeyIds) expect(await listHours(id)).toEqual([lastUse]);
  const { rows } = await sql`select from workspace_usage_hours`.execute(database.owner);
  expect(rows).toEqual([]);
});

test("deletes no hour that another transaction has locked, and doesn't wait for it", async () => {
  await sql`truncate key_usage_hours, workspace_usage_hours, workspace_key_days`.execute(database.owner);
  const keyId = await addKey(await addUser());
  const hours = [ago(40), ago(39)];
  await write({ usage: hours.map((hour) => used(keyId, { hour })) });
  const release = await hold("select from key_usage_hours order by hour limit 1 for update", []);
  expect(await pruneKeyHistory(nodes[0], { keepDays: 30 })).toMatchObject({ hours: 1 });
  expect(await listHours(keyId)).toEqual(hours.slice(0, 1));
  await release();
  expect(await pruneKeyHistory(nodes[0], { keepDays: 30 })).toMatchObject({ hours: 1 });
});

test("only one node prunes at a time; another one changes nothing", async () => {
  const keyId = await addKey(await addUser());
  await sql`truncate key_usage_hours, workspace_usage_hours, workspace_key_days`.execute(database.owner);
  await write({ usage: [used(keyId, { hour: ago(40) })] });
  const release = await hold("select pg_advisory_xact_lock(hashtextextended('latchkey key history', 2))", []);
  const after = { keyId: createId("key"), hours: undefined };
  expect(await pruneKeyHistory(nodes[0], { keepDays: 30, after })).toEqual({ hours: 0, next: after });
  expect(await listHours(keyId)).toHaveLength(1);
  await release();
  expect(await pruneKeyHistory(nodes[0], { keepDays: 30 })).toMatchObject({ hours: 1 });
  expect(await listHours(keyId)).toEqual([]);
});

test("prunes the history of purged and long deleted keys, a few keys per step, and of no other keys", async () => {
  await sql`truncate key_addresses, key_refusals`.execute(database.owner);
  const userId = await addUser();
  const deletedAt = { live: null, lately: ago(29), longAgo: ago(31), justRefused: ago(31) };
  const keys = new Map<string, KeyId>([["never", createId("key")]]);
  for (const [name, at] of Object.entries(deletedAt)) {
    const id = await addKey(userId);
    await database.owner.updateTable("api_keys").set({ deleted_at: at }).where("id", "=", id).execute();
    keys.set(name, id);
  }
  const keyIds = [...keys.values()];
  await write({
    addresses: keyIds
      .filter((keyId) => keyId !== keys.get("justRefused"))
      .map((keyId) => ({ keyId, address: "192.0.2.1", lastSeenAt: ago(1) })),
    rejections: keyIds.map((keyId) => ({ ...rejected(keyId), occurredAt: ago(1) })),
  });
  const visited: (KeyId | undefined)[] = [];
  let after: PruneCursor | undefined;
  do {
    ({ next: after } = await pruneKeyHistory(nodes[0], { keepDays: 30, maxHours: 20, after }));
    visited.push(after?.keyId);
  } while (after && visited.length < 10);
  const inOrder = keyIds.toSorted();
  expect(visited).toEqual([inOrder[1], inOrder[3], undefined]);
  for (const [name, keyId] of keys) {
    const isKept = name === "live" || name === "lately";
    expect(await listKeyAddresses(database.db, keyId), name).toHaveLength(isKept ? 1 : 0);
    expect(await listKeyRejections(database.db, keyId), name).toHaveLength(isKept ? 1 : 0);
  }
});

test("prunes old addresses and rejected requests of live keys, except rows that a node is writing", async () => {
  await sql`truncate key_addresses, key_refusals`.execute(database.owner);
  const keyId = await addKey(await addUser());
  const addresses = [
    { keyId, address: "192.0.2.1", lastSeenAt: ago(31) },
    { keyId, address: "192.0.2.2", lastSeenAt: ago(29) },
    { keyId, address: "192.0.2.3", lastSeenAt: ago(40) },
  ];
  const recent = ago(29);
  const rejections = [ago(31), recent].map((occurredAt) => ({ ...rejected(keyId), occurredAt }));
  await write({ addresses, rejections });
  const release = await hold("select from key_addresses where address = '192.0.2.3' for update", []);
  await pruneKeyHistory(nodes[0], { keepDays: 30 });
  await release();
  const kept = await listKeyAddresses(database.db, keyId);
  expect(kept.map(({ address }) => address)).toEqual(["192.0.2.2", "192.0.2.3"]);
  expect(await listKeyRejections(database.db, keyId)).toMatchObject([{ occurredAt: recent }]);
  await pruneKeyHistory(nodes[0], { keepDays: 30 });
  expect(await listKeyAddresses(database.db, keyId)).toHaveLength(1);
});
