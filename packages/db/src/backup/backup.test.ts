import { type Kysely, sql } from "kysely";
import { beforeAll, expect, inject, onTestFinished, test } from "vitest";
import type { ClusterConnection } from "../embedded/cluster-connection.ts";
import { tryJoin } from "../embedded/presence.ts";
import { copyTemplate, createTemplate } from "../migrate.test-kit.ts";
import { migrate } from "../migrate.ts";
import { migrations } from "../migrations.ts";
import type { Db } from "../schema.ts";
import { requireTenantIsolation } from "../tenant-isolation.ts";
import { countWaiting } from "../testing/count-waiting.ts";
import { openTestPool } from "../testing/test-connection.ts";
import {
  createOwnedDatabase,
  dump,
  fill,
  inChunks,
  type OwnedDatabase,
  own,
  readTables,
  reseal,
  textThatNeedsEscaping,
} from "./backup.test-kit.ts";
import { openBackupSession } from "./backup-session.ts";
import { backupTables } from "./backup-tables.ts";
import { dumpDatabase } from "./dump-database.ts";
import { readBackup } from "./read-backup.ts";
import { type RestoreOptions, restoreDatabase } from "./restore-database.ts";

/** Templates that belong to the same role: one with the newest schema, and one also with rows in every table. */
let migrated: string;
let filled: string;
let ownerOfTemplates: ClusterConnection;
/** The backup of the template with rows, and its rows. */
let filledBackup: Buffer;
let filledTables: Awaited<ReturnType<typeof readTables>>;
beforeAll(async () => {
  migrated = await createTemplate(async (database) => {
    ownerOfTemplates = (await own(database)).owner;
    await migrate(ownerOfTemplates);
  });
  filled = await createTemplate(async (database) => {
    await fill(database.db);
    const { owner } = await own(database, ownerOfTemplates);
    filledBackup = await dump(owner);
    filledTables = await readTables(database.db);
  }, migrated);
});

/** Creates a database with rows in every table. */
async function createSource(): Promise<OwnedDatabase> {
  return await own(await copyTemplate(filled), ownerOfTemplates);
}

/** Creates a database to restore a backup into, with the newest schema. `createOwnedDatabase` creates one without a schema. */
async function createTarget(): Promise<OwnedDatabase> {
  return await own(await copyTemplate(migrated), ownerOfTemplates);
}

async function restore(
  { owner }: OwnedDatabase,
  backup: Buffer,
  options: Partial<RestoreOptions> = {},
): Promise<{ readonly rowCount: number; readonly isNew: boolean }> {
  const { header } = await readBackup(inChunks(backup, 65_536));
  const openBackup = () => inChunks(backup, 1_000);
  return await restoreDatabase(owner, { header, openBackup, isEmbedded: false, ...options });
}

test("restores every row of every table unchanged, for an owner who is not a superuser", async () => {
  const [source, target] = [await createSource(), await createOwnedDatabase()];
  const before = await readTables(source.superuser);
  for (const [table, rows] of Object.entries(before)) expect(rows.length, table).toBeGreaterThan(0);
  const backup = await dump(source.owner);
  const rowCount = Object.values(before).flat().length;
  expect(await restore(target, backup)).toMatchObject({ rowCount, isNew: true });
  expect(await readTables(target.superuser)).toEqual(before);
  expect(await readTables(source.superuser)).toEqual(before);
  const { rows } = await sql`
    select email, name, is_operator from users order by email`.execute(target.superuser);
  expect(rows).toEqual([
    { email: "ada@example.com", name: "Ada", is_operator: true },
    { email: "grace@example.com", name: textThatNeedsEscaping, is_operator: false },
  ]);
  await requireTenantIsolation(target.owner);
});

test("fails the deliveries that were pending, with the reason, and leaves their webhooks unchanged", async () => {
  const [source, target] = [await createSource(), await createTarget()];
  await sql`
    insert into webhook_deliveries (workspace_id, id, webhook_id, action, attempt_count, attempts, next_attempt_at)
    select workspace_id, gen_random_uuid(), webhook_id, 'webhook.test', 3,
      (select jsonb_agg(jsonb_build_object('status', n)) from generate_series(1, 50) n), now()
    from webhook_deliveries`.execute(source.superuser);
  const before = await readTables(source.superuser);
  const { webhook_deliveries: deliveries = [], ...others } = before;
  await restore(target, await dump(source.owner));
  const { webhook_deliveries: restored = [], ...restoredOthers } = await readTables(target.superuser);
  expect(restoredOthers).toEqual(others);
  // Those that had ended are unchanged.
  expect(restored.filter((row) => deliveries.includes(row))).toHaveLength(2);
  const { rows } = await sql<{ attempts: { status: number | null }[] }>`
    select status, attempt_count, next_attempt_at, attempts from webhook_deliveries
    where action = 'webhook.test'`.execute(target.superuser);
  const reason = { at: expect.stringMatching(/^20.*Z$/), status: null, error: "restored", durationMs: 0 };
  const failed = { status: "failed", attempt_count: 3, next_attempt_at: null };
  const attempts = [...Array.from({ length: 49 }, (_attempt, index) => ({ status: index + 2 })), reason];
  expect(rows).toEqual(Array(2).fill({ ...failed, attempts }));
});

test("webhooks that were failing count failures again", async () => {
  const [source, target] = [await createSource(), await createTarget()];
  await sql`update webhooks set failing_since = null`.execute(source.superuser);
  const before = await readTables(source.superuser);
  await sql`update webhooks set failing_since = now()`.execute(source.superuser);
  await restore(target, await dump(source.owner));
  expect(await readTables(target.superuser)).toEqual(before);
});

test("emails no notices whose emails were due, and leaves them unchanged otherwise", async () => {
  const [source, target] = [await createSource(), await createTarget()];
  const before = await readTables(source.superuser);
  await sql`update notices set is_email_due = true, email_claimed_until = now()`.execute(source.superuser);
  await restore(target, await dump(source.owner));
  expect(await readTables(target.superuser)).toEqual(before);
});

test.each(["0009-restorable-dumps", "0027-webhooks"])(
  "restores a backup of the schema of %s",
  async (upTo) => {
    const [source, target] = [await createOwnedDatabase(), await createOwnedDatabase()];
    await migrate(source.owner, { upTo });
    if (upTo === "0027-webhooks") {
      await sql`insert into users (id, email, name) values (gen_random_uuid(), 'ada@example.com', 'Ada')`.execute(
        source.superuser,
      );
      await sql`insert into workspaces (id, name, slug) select id, name, 'team' from users`.execute(
        source.superuser,
      );
      await sql`
      insert into webhooks (workspace_id, id, url, secret) select id, id, 'https://example.com', 'x' from workspaces`.execute(
        source.superuser,
      );
      await sql`
      insert into webhook_deliveries (workspace_id, id, webhook_id, action)
      select id, id, id, 'webhook.test' from workspaces`.execute(source.superuser);
    }
    await restore(target, await dump(source.owner));
    await requireTenantIsolation(target.owner);
    const { rows } = await sql`select status, attempts from webhook_deliveries`.execute(target.superuser);
    const failed = { status: "failed", attempts: [expect.objectContaining({ error: "restored" })] };
    expect(rows).toEqual(upTo === "0027-webhooks" ? [failed] : []);
  },
);

test("a backup contains every table of the schema after the tables that it refers to, and the schema has no sequence", async () => {
  const { superuser } = await createTarget();
  const tables = await sql<{ name: string }>`
    select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`.execute(
    superuser,
  );
  expect(tables.rows.map(({ name }) => name).sort()).toEqual([...backupTables, "migrations"].sort());
  const references = await sql<{ source: string; target: string }>`
    select conrelid::regclass::text as source, confrelid::regclass::text as target from pg_constraint where contype = 'f'`.execute(
    superuser,
  );
  const order: readonly string[] = backupTables;
  for (const { source, target } of references.rows)
    expect(order.indexOf(target), source).toBeLessThan(order.indexOf(source));
  // The values of sequences would have to be restored too.
  const sequences =
    await sql`select from pg_class where relkind = 'S' and relnamespace = 'public'::regnamespace`.execute(
      superuser,
    );
  expect(sequences.rows).toEqual([]);
});

test("is a snapshot: changes that others make while it is read are not in it", async () => {
  const [source, target] = [await createSource(), await createTarget()];
  const before = await readTables(source.superuser);
  const chunks: Buffer[] = [];
  for await (const chunk of dumpDatabase(source.owner, { product: "1.2.3-test" })) {
    // The header has been read, and no table yet.
    if (chunks.length === 0) {
      await sql`delete from api_keys where name = 'Ada'`.execute(source.superuser);
      await sql`update key_counters set use_count = 0`.execute(source.superuser);
      await sql`insert into verifications (id, identifier, value, expires_at) values (gen_random_uuid(), '', '', now())`.execute(
        source.superuser,
      );
    }
    chunks.push(chunk);
  }
  await restore(target, Buffer.concat(chunks));
  expect(await readTables(target.superuser)).toEqual(before);
});

test("contains what is written after the checks and before the snapshot", async () => {
  const [source, target] = [await createSource(), await createTarget()];
  const beforeSnapshot = async () => {
    await sql`update users set name = 'Renamed'`.execute(source.superuser);
  };
  await restore(target, await dump(source.owner, { beforeSnapshot }));
  const { rows } = await sql`select distinct name from users`.execute(target.superuser);
  expect(rows).toEqual([{ name: "Renamed" }]);
});

test("checks the schema again after what is done before the snapshot", async () => {
  const { owner } = await createSource();
  const newer = { ...migrations, "9001-newer": { up: async () => undefined } };
  const beforeSnapshot = async () => void (await migrate(owner, { known: newer }));
  await expect(dump(owner, { beforeSnapshot })).rejects.toMatchObject({ kind: "newer-version" });
});

test("a migration can't rewrite a table between the snapshot and the reading of the table", async () => {
  const { owner, superuser } = await createSource();
  const chunks = dumpDatabase(owner, { product: "1.2.3-test" });
  // The header has been read, and no table yet.
  await chunks.next();
  const rewriting = superuser.transaction().execute(async (trx) => {
    await sql`set local lock_timeout = '50ms'`.execute(trx);
    await sql`alter table key_refusals alter column path type varchar`.execute(trx);
    await sql`truncate key_refusals`.execute(trx);
  });
  await expect(rewriting).rejects.toThrow("lock timeout");
  await chunks.return(undefined);
});

test("an interrupted backup stops waiting for a lock", async () => {
  const { owner, superuser } = await createSource();
  const interruption = new AbortController();
  await superuser.transaction().execute(async (trx) => {
    await sql`lock table audit_events in access exclusive mode`.execute(trx);
    const reading = dump(owner, { signal: interruption.signal });
    reading.catch(() => undefined);
    await expect.poll(() => countWaiting(superuser)).toBe(1);
    interruption.abort();
    await expect(reading).rejects.toThrow("Connection terminated");
  });
});

test("no timeout of the server or the role ends a backup", async () => {
  const { owner, superuser } = await createOwnedDatabase();
  const { rows } = await sql<{ name: string }>`
    select name from pg_settings
    where name ~ '^(statement|transaction|idle_in_transaction_session|idle_session)_timeout$'`.execute(
    superuser,
  );
  expect(rows.length).toBeGreaterThan(2);
  for (const { name } of rows)
    await sql`alter role ${sql.id(owner.user)} set ${sql.id(name)} = '1h'`.execute(superuser);
  const session = await openBackupSession(owner, "test");
  onTestFinished(session.close);
  const ofSession = await sql<{ setting: string }>`
    select distinct setting from pg_settings where name = any(${rows.map(({ name }) => name)})`.execute(
    session.db,
  );
  expect(ofSession.rows).toEqual([{ setting: "0" }]);
});

test("no setting of the server or the role changes the format of values in a backup, or how long it waits for a lock", async () => {
  const { owner, superuser } = await createOwnedDatabase();
  const roleSettings = {
    client_encoding: "LATIN1",
    datestyle: "SQL, DMY",
    intervalstyle: "iso_8601",
    timezone: "America/New_York",
    bytea_output: "escape",
    extra_float_digits: "0",
    lock_timeout: "1h",
  };
  for (const [name, value] of Object.entries(roleSettings))
    await sql`alter role ${sql.id(owner.user)} set ${sql.id(name)} = ${sql.lit(value)}`.execute(superuser);
  const session = await openBackupSession(owner, "test");
  onTestFinished(session.close);
  const ofSession = await sql<{ name: string; value: string }>`
    select name, current_setting(name) as value from unnest(${Object.keys(roleSettings)}::text[]) as name`.execute(
    session.db,
  );
  expect(Object.fromEntries(ofSession.rows.map(({ name, value }) => [name, value]))).toEqual({
    client_encoding: "UTF8",
    datestyle: "ISO, YMD",
    intervalstyle: "postgres",
    timezone: "UTC",
    bytea_output: "hex",
    extra_float_digits: "3",
    lock_timeout: "10s",
  });
});

test("a backup of an older schema is restored and then migrated, including its rows", async () => {
  const target = await createOwnedDatabase();
  const newer = {
    ...migrations,
    "9001-nicknames": {
      up: async (db: Kysely<unknown>) => {
        await sql`alter table users add column nickname text`.execute(db);
        await sql`update users set nickname = upper(email)`.execute(db);
      },
    },
  };
  await restore(target, filledBackup, { known: newer });
  const { rows } = await sql`select nickname from users order by 1`.execute(target.superuser);
  expect(rows).toEqual([{ nickname: "ADA@EXAMPLE.COM" }, { nickname: "GRACE@EXAMPLE.COM" }]);
});

/** For a backup that is refused, and must not be recorded. */
const refused = {
  beforeSnapshot: () => Promise.reject(new Error("The backup was not refused.")),
};

test("rejects a backup of a newer schema, and a database that a newer version migrated", async () => {
  const [source, target] = [await createSource(), await createOwnedDatabase()];
  const newer = { ...migrations, "9001-newer": { up: async () => undefined } };
  await migrate(source.owner, { known: newer });
  await expect(dump(source.owner, refused)).rejects.toMatchObject({
    kind: "newer-version",
    message:
      "A newer version of Latchkey has migrated the database (9001-newer); back it up with that version.",
  });
  const backup = await dump(source.owner, { known: newer });
  await expect(restore(target, backup)).rejects.toMatchObject({
    kind: "newer-version",
    message:
      "The backup was made by a newer version of Latchkey, with migrations that this version doesn't have (9001-newer). Restore it with the version that made it, or a newer one.",
  });
  expect(await listTables(target.superuser)).toEqual([]);
});

test("does not back up a schema whose owner can't read all rows", async () => {
  const { owner } = await createOwnedDatabase();
  await migrate(owner, { upTo: "0008-migration-checksums" });
  await expect(dump(owner, refused)).rejects.toMatchObject({ kind: "unsuitable-schema" });
});

test("does not back up as a login from which row-level security hides rows", async () => {
  const source = await createSource();
  const { owner, superuser } = source;
  const role = `${owner.user}_reader`;
  await sql`create role ${sql.id(role)} login password 'a password for tests'`.execute(superuser);
  await sql`grant usage on schema public to ${sql.id(role)}`.execute(superuser);
  await sql`grant select on all tables in schema public to ${sql.id(role)}`.execute(superuser);
  await expect(dump({ ...owner, user: role }, refused)).rejects.toMatchObject({
    kind: "unsuitable-login",
  });
});

async function listTables(db: Db): Promise<unknown[]> {
  const { rows } = await sql`select tablename from pg_tables where schemaname = 'public'`.execute(db);
  return rows;
}

/** Ways to damage a backup, and the reason that is then reported. */
const damages: readonly (readonly [how: string, damage: (backup: Buffer) => Buffer, reason: RegExp])[] = [
  ["cut in the middle", (backup) => backup.subarray(0, backup.length / 2), /it ends too early/],
  [
    "cut before its last line",
    (backup) => backup.subarray(0, backup.lastIndexOf("\n", -2) + 1),
    /ends too early/,
  ],
  ["cut in its header", (backup) => backup.subarray(0, 100), /it ends too early/],
  ["empty", () => Buffer.alloc(0), /it ends too early/],
  ["changed", (backup) => Buffer.from(backup.toString().replace("ada@", "eve@")), /its checksum is wrong/],
  [
    "without one row",
    (backup) => reseal(backup, (text) => text.replace(/\n[^\n]*\texpired/, "")),
    /the table "key_refusals" has 1 rows instead of 2/,
  ],
  [
    "with more data at the end",
    (backup) => Buffer.concat([backup, Buffer.from("\n")]),
    /has data after its last line/,
  ],
  ["another file", () => Buffer.from('{"a":1}\n'), /not a backup made by `latchkey backup`/],
];

test("rejects damaged backups, and leaves the database that is being restored without data", async () => {
  const target = await createOwnedDatabase();
  for (const [how, damage, reason] of damages) {
    const damaged = damage(filledBackup);
    for (const bytes of [7, 65_536])
      await expect(readBackup(inChunks(damaged, bytes)), how).rejects.toMatchObject({
        kind: "damaged-file",
        message: expect.stringMatching(reason),
      });
    // As if the file was damaged after it was checked.
    const openBackup = () => inChunks(damaged, 1_000);
    await expect(restore(target, filledBackup, { openBackup }), how).rejects.toMatchObject({
      kind: "damaged-file",
    });
    expect(Object.values(await readTables(target.superuser)).flat(), how).toEqual([]);
  }
  await requireTenantIsolation(target.owner);
  // Failed restores don't prevent a later one.
  expect(await restore(target, filledBackup)).toMatchObject({ isNew: false });
  expect(await readTables(target.superuser)).toEqual(filledTables);
});

test.each<[string, Record<string, unknown>]>([
  ["a migration that is null", { migrations: [null] }],
  ["no migrations", { migrations: [] }],
  ["a migration without its checksum", { migrations: [{ name: "0001-ground-floor" }] }],
  ["the same migration twice", { migrations: Array(2).fill({ name: "0001-ground-floor", checksum: null }) }],
  ["no tables", { tables: [] }],
  ["a table without columns", { tables: [{ name: "users", columns: [] }] }],
  ["a column that is null", { tables: [{ name: "users", columns: [null] }] }],
  ["the same column twice", { tables: [{ name: "users", columns: ["id", "id"] }] }],
  ["the same table twice", { tables: Array(2).fill({ name: "users", columns: ["id"] }) }],
  ["a time that is an object", { createdAt: {} }],
  ["an invalid time", { createdAt: "2026-13-01T00:00:00.000Z" }],
  ["a version of Latchkey that is a number", { product: 1 }],
])("rejects a header with %s", async (_what, change) => {
  const header = {
    format: "latchkey-backup",
    version: 1,
    product: "1.2.3",
    createdAt: "2026-01-01T00:00:00.000Z",
    migrations: [{ name: "0001-ground-floor", checksum: null }],
    tables: [{ name: "users", columns: ["id"] }],
  };
  const read = (value: object) => {
    const rows = "\\.\n".repeat("tables" in value && Array.isArray(value.tables) ? value.tables.length : 1);
    const text = `${JSON.stringify(value)}\n${rows}{"rows":{"users":0}}\n`;
    return readBackup(
      inChunks(
        reseal(Buffer.from(text), (body) => body),
        65_536,
      ),
    );
  };
  expect(await read(header)).toMatchObject({ rowCount: 0 });
  await expect(read({ ...header, ...change })).rejects.toMatchObject({
    kind: "damaged-file",
    message: "It is truncated or damaged: its header is not valid.",
  });
});

test("names the newer version whose backup has a table that this version doesn't have", async () => {
  const header = {
    format: "latchkey-backup",
    version: 1,
    product: "9.9.9",
    createdAt: "2026-01-01T00:00:00.000Z",
    migrations: [{ name: "0001-ground-floor", checksum: null }],
    tables: [{ name: "invoices", columns: ["id"] }],
  };
  const text = `${JSON.stringify(header)}\n\\.\n{"rows":{"invoices":0}}\n`;
  const backup = reseal(Buffer.from(text), (body) => body);
  await expect(readBackup(inChunks(backup, 65_536))).rejects.toMatchObject({
    kind: "newer-version",
    message:
      "The backup was made by a newer version of Latchkey, with tables that this version doesn't have (invoices). Restore it with the version that made it, or a newer one.",
  });
});

test("rejects a backup whose migrations have a gap", async () => {
  const target = await createOwnedDatabase();
  const backup = reseal(filledBackup, (text) =>
    text.replace(/\{"name":"0002-the-wall","checksum":[^}]*\},/, ""),
  );
  await expect(restore(target, backup)).rejects.toMatchObject({ kind: "damaged-file" });
  expect(await listTables(target.superuser)).toEqual([]);
});

test("rejects a line that is too long in linear time", async () => {
  const chunk = Buffer.alloc(16_384, "x");
  async function* endless(): AsyncGenerator<Buffer> {
    while (true) yield chunk;
  }
  await expect(readBackup(endless())).rejects.toMatchObject({
    kind: "damaged-file",
    message: expect.stringContaining("it has a line that is too long"),
  });
});

test("a backup ends if Postgres does not respond", async () => {
  const { owner, superuser } = await createSource();
  const chunks = dumpDatabase(owner, { product: "1.2.3-test", silenceMs: 500 });
  await chunks.next();
  const { rows } = await sql<{ pid: number }>`
    select pid from pg_stat_activity where datname = ${owner.database} and application_name = 'latchkey backup'`.execute(
    superuser,
  );
  const [{ pid } = { pid: 0 }] = rows;
  process.kill(pid, "SIGSTOP");
  try {
    await expect(Array.fromAsync(chunks)).rejects.toMatchObject({ kind: "silent-database" });
  } finally {
    process.kill(pid, "SIGCONT");
  }
});

test("a restore whose statistics can't be updated succeeds and reports the failure", async () => {
  const target = await createTarget();
  // The index's expression fails when the rows are analyzed, but not when they are loaded.
  await sql`
    create function only_outside_analyze(name text) returns text language plpgsql immutable as $body$
    begin
      if current_query() like 'analyze%' then raise 'not now'; end if;
      return name;
    end $body$`.execute(target.superuser);
  await sql`create index on users (only_outside_analyze(name))`.execute(target.superuser);
  expect(await restore(target, filledBackup)).toMatchObject({
    analyzeFailure: expect.stringContaining("not now"),
  });
  expect(await readTables(target.superuser)).toEqual(filledTables);
});

test("reports the table of rows that the database rejects, and restores nothing", async () => {
  const target = await createTarget();
  const backup = reseal(filledBackup, (text) => text.replace("\towner\t", "\temperor\t"));
  await expect(restore(target, backup)).rejects.toMatchObject({
    kind: "rejected-rows",
    message: expect.stringMatching(/^The database rejects rows of the table "members": .*check constraint/),
  });
  expect(Object.values(await readTables(target.superuser)).flat()).toEqual([]);
});

test("reports a full disk as such, not as rows that the database rejects", async () => {
  const target = await createTarget();
  await sql`
    create function fills_the_disk() returns boolean language plpgsql as 'begin raise disk_full; end';
    alter table users add check (fills_the_disk())`.execute(target.superuser);
  await expect(restore(target, filledBackup)).rejects.toMatchObject({ code: "53100" });
  expect(Object.values(await readTables(target.superuser)).flat()).toEqual([]);
});

test("restores only into a database without data, and replaces rows that a server without users has added", async () => {
  const source = await createSource();
  await expect(restore(source, filledBackup)).rejects.toMatchObject({
    kind: "database-not-empty",
    message:
      'The database has data (the table "accounts" has rows); restore the backup into an empty database.',
  });
  expect(await readTables(source.superuser)).toEqual(filledTables);

  const target = await createTarget();
  await sql`insert into throttle_buckets (digest, full_at) values (sha256('y'), now())`.execute(
    target.superuser,
  );
  // The challenge of a passkey, or the start of a sign-in with OpenID Connect.
  await sql`insert into verifications (id, identifier, value, expires_at) values (gen_random_uuid(), 'x', '', now())`.execute(
    target.superuser,
  );
  expect(await restore(target, filledBackup)).toMatchObject({ isNew: false });
  expect(await readTables(target.superuser)).toEqual(filledTables);
});

test("doesn't restore into a schema other than the backup's", async () => {
  const target = await createTarget();
  await migrate(target.owner, { known: { ...migrations, "9001-newer": { up: async () => undefined } } });
  await expect(restore(target, filledBackup)).rejects.toMatchObject({
    kind: "unsuitable-schema",
    message: expect.stringContaining("(9001-newer)"),
  });
});

test("doesn't restore while a server has connections to the database", async () => {
  const target = await createOwnedDatabase();
  const server = openTestPool(target.owner, { applicationName: "latchkey open" });
  try {
    await sql`select 1`.execute(server);
    await expect(restore(target, filledBackup)).rejects.toMatchObject({ kind: "database-in-use" });
  } finally {
    await server.destroy();
  }
  expect(await listTables(target.superuser)).toEqual([]);
});

test("restores once the connections of a server that has just stopped are closed", async () => {
  const target = await createTarget();
  const server = openTestPool(target.owner, { applicationName: "latchkey open" });
  await sql`select 1`.execute(server);
  const restoring = restore(target, filledBackup);
  // The restoration has found the server's connection once it waits for its next check.
  await expect
    .poll(async () => {
      const { rows } = await sql`
        select from pg_stat_activity where application_name = 'latchkey restore' and state = 'idle'
          and query like '%pg_locks%'`.execute(target.superuser);
      return rows.length;
    })
    .toBe(1);
  await server.destroy();
  await restoring;
});

test("doesn't restore while another process is present on the embedded Postgres", async () => {
  const target = await createOwnedDatabase();
  // The process that started this run's cluster is present on it.
  const other = await tryJoin(inject("postgres"));
  if (other.kind !== "present") throw new Error("The cluster of the test run can't be joined.");
  try {
    await expect(restore(target, filledBackup, { isEmbedded: true })).rejects.toMatchObject({
      kind: "database-in-use",
    });
  } finally {
    await other.presence.end();
  }
});

test("an interrupted restore leaves no data", async () => {
  const target = await createTarget();
  const stopping = new AbortController();
  async function* interrupted(): AsyncGenerator<Buffer> {
    for await (const chunk of inChunks(filledBackup, 1_000)) {
      yield chunk;
      stopping.abort();
    }
  }
  const { signal } = stopping;
  await expect(restore(target, filledBackup, { openBackup: interrupted, signal })).rejects.toMatchObject({
    name: "AbortError",
  });
  expect(Object.values(await readTables(target.superuser)).flat()).toEqual([]);
});

test("an interrupted restore stops waiting for a lock", async () => {
  const target = await createTarget();
  const interruption = new AbortController();
  await target.superuser.transaction().execute(async (trx) => {
    await sql`lock table audit_events in share mode`.execute(trx);
    const restoring = restore(target, filledBackup, { signal: interruption.signal });
    restoring.catch(() => undefined);
    await expect.poll(() => countWaiting(target.superuser)).toBe(1);
    interruption.abort();
    await expect(restoring).rejects.toThrow("Connection terminated");
  });
});
