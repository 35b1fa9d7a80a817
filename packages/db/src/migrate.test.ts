import { randomUUID } from "node:crypto";
import { type ControlledTransaction, type Kysely, sql } from "kysely";
import pg from "pg";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  type BareDatabase,
  copyTemplate,
  createEmptyDatabase,
  createMigratedDatabase,
  createOwner,
  createTemplate,
  giveDatabase,
  type Owner,
} from "./migrate.test-kit.ts";
import { migrate } from "./migrate.ts";
import { migrations } from "./migrations.ts";
import type { Database, Db } from "./schema.ts";
import { testClientConfig } from "./testing/test-connection.ts";

/** Everything that a migration can create, as text, so that two databases can be compared. */
async function describeSchema(db: Db): Promise<unknown> {
  const { rows } = await sql`
    select 'column' as kind, table_name || '.' || column_name as name,
      concat_ws(' ', ordinal_position, data_type, is_nullable, column_default) as facts
    from information_schema.columns where table_schema = 'public'
    union all
    select 'constraint', conrelid::regclass || '.' || conname, pg_get_constraintdef(oid)
    from pg_constraint where connamespace = 'public'::regnamespace
    union all
    select 'index', indexname, indexdef from pg_indexes where schemaname = 'public'
    union all
    select 'trigger', tgname, pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
    union all
    select 'function', proname, prosrc from pg_proc where pronamespace = 'public'::regnamespace
    union all
    select 'policy', tablename || '.' || policyname, concat_ws(' ', permissive, roles, cmd, qual, with_check)
    from pg_policies where schemaname = 'public'
    union all
    select 'grant', table_name || '.' || column_name, string_agg(grantee || ' ' || privilege_type, ', ' order by 1)
    from information_schema.column_privileges where table_schema = 'public' group by table_name, column_name
    union all
    select 'row-level security', relname, concat_ws(' ', relrowsecurity, relforcerowsecurity)
    from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
    union all
    select 'options', relname, array_to_string(reloptions, ',')
    from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
    order by 1, 2, 3`.execute(db);
  return rows;
}

/** The schemas that tests begin with, other than no schema and the newest one. */
const beginnings = [
  "0010-purged-keys",
  "0033-owner-versions",
  "0054-differences-of-permissions",
  "0058-records-left-to-the-purge",
  "0061-audit-events-by-actor-and-action",
];
const names = Object.keys(migrations);
const newest = names.at(-1) ?? "";

interface Step {
  readonly name: string;
  /** What `migrate` returned. */
  readonly applied: readonly string[];
  readonly contract: Contract;
}

/** A migration step by step: what each step did, and templates with the schemas of some steps. */
const steps: Step[] = [];
const templates = new Map<string, string>();
beforeAll(async () => {
  let template: string | undefined;
  for (const end of [...beginnings, newest]) {
    template = await createTemplate(async ({ connection, db }) => {
      for (const name of names.slice(steps.length, names.indexOf(end) + 1)) {
        const applied = await migrate(connection, { upTo: name });
        steps.push({ name, applied, contract: await describeContract(db) });
      }
    }, template);
    templates.set(end, template);
  }
});

/** Creates a database with the schema after a step. It is removed when the test ends. */
function createDatabaseAt(name: string): Promise<BareDatabase> {
  return copyTemplate(templates.get(name) ?? "");
}

test("a database that was migrated step by step equals one that was migrated in one run", async () => {
  const fresh = await createEmptyDatabase();
  const stepped = await createDatabaseAt(newest);
  expect(await migrate(fresh.connection)).toEqual(names);
  expect(steps.map(({ applied }) => applied)).toEqual(names.map((name) => [name]));
  expect(await describeSchema(stepped.db)).toEqual(await describeSchema(fresh.db));
});

test("the queues of webhooks that were deleted by earlier versions are deleted, unless they have jobs", async () => {
  const { connection, db } = await createDatabaseAt("0061-audit-events-by-actor-and-action");
  const [workspaceId, webhookId, deletedId, sendingId] = Array.from({ length: 4 }, () => randomUUID());
  await sql`insert into workspaces (id, name, slug) values (${workspaceId}, 'Team', 'team')`.execute(db);
  await sql`
    insert into webhooks (workspace_id, id, url, secret)
    values (${workspaceId}, ${webhookId}, 'https://example.com', 'x')`.execute(db);
  for (const [name, key] of [
    [webhookId, "ended"],
    [deletedId, "ended"],
    [sendingId, "waiting"],
  ])
    await sql`select graphile_worker.add_job('deliver-to-webhook', queue_name => ${name}, job_key => ${key})`.execute(
      db,
    );
  await sql`select graphile_worker.remove_job('ended')`.execute(db);
  await migrate(connection);
  const { rows } = await sql`
    select queue_name as name from graphile_worker._private_job_queues order by id`.execute(db);
  expect(rows).toEqual([{ name: webhookId }, { name: sendingId }]);
});

test("existing workspaces get an empty description, and earlier versions can still add workspaces", async () => {
  const { connection, db } = await createDatabaseAt("0010-purged-keys");
  const add = (slug: string) =>
    sql`insert into workspaces (id, name, slug) values (${randomUUID()}, 'Team', ${slug})`.execute(db);
  await add("before");
  await migrate(connection);
  await add("after");
  const { rows } = await sql`select slug, description from workspaces order by slug`.execute(db);
  expect(rows).toEqual([
    { slug: "after", description: "" },
    { slug: "before", description: "" },
  ]);
});

test("API keys keep the permissions that get other names", async () => {
  const { connection, db } = await createDatabaseAt("0033-owner-versions");
  const userId = randomUUID();
  await sql`insert into users (id, email, name) values (${userId}, 'ada@example.com', 'Ada')`.execute(db);
  const stored = [["audit:read", "keys:read", "keys:manage", "members:read"], ["audit:read"], [], null];
  for (const [index, permissions] of stored.entries()) {
    await sql`
      insert into api_keys (id, user_id, name, description, start, hash, permissions)
      values (${randomUUID()}, ${userId}, ${`key ${index}`}, '', 'lk_abcdef', ${Buffer.alloc(32, index)}, ${permissions})`.execute(
      db,
    );
  }
  await migrate(connection);
  const { rows } = await sql`select permissions from api_keys order by name`.execute(db);
  expect(rows).toEqual([
    { permissions: ["audit:read", "api-keys:read", "api-keys:manage", "members:read"] },
    { permissions: ["audit:read"] },
    { permissions: [] },
    { permissions: null },
  ]);
});

test("migrating again changes nothing", async () => {
  const { connection, db } = await createMigratedDatabase();
  const before = await describeSchema(db);
  expect(await migrate(connection)).toEqual([]);
  expect(await describeSchema(db)).toEqual(before);
});

test("of nodes that start at the same time, one migrates and the others wait for it", async () => {
  const { connection } = await createEmptyDatabase();
  const applied = await Promise.all(Array.from({ length: 4 }, () => migrate(connection)));
  expect(applied.filter((names) => names.length > 0)).toEqual([Object.keys(migrations)]);
});

describe("a migration that fails", () => {
  /** A migrated database, and a migration that changes two tables in it and notes its attempts. */
  async function prepare() {
    const { connection, db } = await createMigratedDatabase();
    await sql`create table free (); create table locked ()`.execute(db);
    const tables: string[] = [];
    const up = async (trx: Kysely<unknown>) => {
      for (const table of ["free", "locked"]) {
        tables.push(table);
        await sql`alter table ${sql.table(table)} add column added integer`.execute(trx);
      }
    };
    return {
      connection,
      db,
      tables,
      run: () => migrate(connection, { known: { ...migrations, "9001-test": { up } } }),
    };
  }

  const attempt = ["free", "locked"];

  test("because another transaction locks a table is rolled back and tried again until the lock is free", async () => {
    const { connection, db, tables, run } = await prepare();
    const holder = new pg.Client(testClientConfig(connection, "another transaction"));
    await holder.connect();
    onTestFinished(() => holder.end());
    await holder.query("begin; lock table locked in access share mode");
    const running = run();
    running.catch(() => undefined); // Reported when the result is awaited.
    // The second attempt adds the column of the free table again, so the first one was rolled back while the lock was held.
    await expect.poll(() => tables.slice(0, 4)).toEqual([...attempt, ...attempt]);
    await holder.query("commit");
    expect(await running).toEqual(["9001-test"]);
    const { rows } = await sql`
      select table_name as name from information_schema.columns where column_name = 'added' order by 1`.execute(
      db,
    );
    expect(rows).toEqual([{ name: "free" }, { name: "locked" }]);
  });

  test("waits longer now and then during a vacuum, because autovacuum ends only for a statement that has waited for a second", async () => {
    const { connection, db, run } = await prepare();
    const holder = new pg.Client(testClientConfig(connection, "vacuum"));
    await holder.connect();
    onTestFinished(() => holder.end());
    await sql`alter table locked add column text text`.execute(db);
    await sql`insert into locked select repeat('x', 1000) from generate_series(1, 10000)`.execute(db);
    // Minutes long, as for a large table.
    await holder.query("set vacuum_cost_delay = 100; set vacuum_cost_limit = 1");
    const vacuum = holder.query("vacuum locked");
    vacuum.catch(() => undefined);
    await expect
      .poll(async () => (await sql`select from pg_stat_progress_vacuum`.execute(db)).rows.length)
      .toBe(1);
    const running = run();
    running.catch(() => undefined); // Reported when the result is awaited.
    const countPatient = async () => {
      const { rows } = await sql`
        select from pg_locks
        where not granted and relation = 'locked'::regclass and waitstart < clock_timestamp() - interval '1 second'`.execute(
        db,
      );
      return rows.length;
    };
    await expect.poll(countPatient, { interval: 20 }).toBe(1);
    await sql`select pg_cancel_backend(pid) from pg_stat_progress_vacuum`.execute(db);
    await expect(vacuum).rejects.toThrow("canceling statement");
    expect(await running).toEqual(["9001-test"]);
  });

  test("keeps the migrations before the one that started its transaction, and holds none of their locks", async () => {
    const { connection, db } = await prepare();
    const lockTables: string[][] = [];
    const listLocks = async (trx: Kysely<unknown>) => {
      const { rows } = await sql<{ table: string }>`
        select relation::regclass::text as table from pg_locks
        where mode = 'AccessExclusiveLock' and relation in ('free'::regclass, 'locked'::regclass) order by 1`.execute(
        trx,
      );
      lockTables.push(rows.map(({ table }) => table));
      // As if another transaction locked a table at the first attempt.
      if (lockTables.length === 1) await sql`do 'begin raise lock_not_available; end'`.execute(trx);
    };
    const known = {
      ...migrations,
      "9001-lock": { up: async (trx: Kysely<unknown>) => void (await sql`lock table free`.execute(trx)) },
      "9002-long": { up: listLocks, startsTransaction: true },
      "9003-lock": { up: async (trx: Kysely<unknown>) => void (await sql`lock table locked`.execute(trx)) },
      "9004-list": { up: listLocks },
    };
    expect(await migrate(connection, { known })).toEqual([
      "9001-lock",
      "9002-long",
      "9003-lock",
      "9004-list",
    ]);
    expect(lockTables).toEqual([[], [], ["locked"]]);
    const failing = {
      ...known,
      "9005-kept": { up: async () => undefined },
      "9006-fails": { up: () => Promise.reject(new Error("It fails.")), startsTransaction: true },
    };
    const onWarning = vi.fn();
    await expect(migrate(connection, { known: failing, onWarning })).rejects.toThrow("It fails.");
    expect(onWarning.mock.calls).toEqual([[{ kind: "incomplete", migrations: ["9005-kept"] }]]);
    const { rows } = await sql`select name from migrations where name > '9004-list'`.execute(db);
    expect(rows).toEqual([{ name: "9005-kept" }]);
  });

  test("for another reason is rolled back and not tried again", async () => {
    const { db, tables, run } = await prepare();
    await sql`drop table locked`.execute(db);
    await expect(run()).rejects.toThrow('relation "locked" does not exist');
    expect(tables).toEqual(attempt);
    const { rows } = await sql`
      select from information_schema.columns where column_name = 'added'`.execute(db);
    expect(rows).toEqual([]);
  });
});

type Contract = ReadonlyMap<string, string | null>;

/**
 * What a version may rely on: tables and columns, privileges, policies and functions, which columns it may omit in a row, and
 * what else applies to a row that it writes (constraints, unique indexes and triggers).
 */
async function describeContract(db: Db): Promise<Contract> {
  const { rows } = await sql<{ name: string; facts: string | null }>`
    select 'column ' || table_name || '.' || column_name as name,
      data_type || case is_nullable when 'NO' then ' not null' else '' end as facts
    from information_schema.columns where table_schema = current_schema()
    union all
    select 'grant ' || table_name || '.' || column_name || ' ' || grantee || ' ' || privilege_type, ''
    from information_schema.column_privileges where table_schema = current_schema()
    union all
    -- These apply to tables only.
    select 'grant ' || table_name || ' ' || grantee || ' ' || privilege_type, ''
    from information_schema.table_privileges
    where table_schema = current_schema() and privilege_type in ('DELETE', 'TRUNCATE')
    union all
    select 'grant ' || oid::regprocedure || ' ' || case grantee when 0 then 'PUBLIC' else grantee::regrole::text end
      || ' ' || privilege_type, ''
    from pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner)))
    where pronamespace = current_schema()::regnamespace
    union all
    select 'function ' || oid::regprocedure, pg_get_functiondef(oid)
    from pg_proc where pronamespace = current_schema()::regnamespace
    union all
    select 'unique indexes of ' || relname, string_agg(pg_get_indexdef(indexrelid), '; ' order by indexrelid::regclass::text)
    from pg_class left join pg_index on indrelid = oid and indisunique
    where relnamespace = current_schema()::regnamespace and relkind = 'r' group by relname
    union all
    select 'triggers of ' || relname, string_agg(pg_get_triggerdef(pg_trigger.oid), '; ' order by tgname)
    from pg_class left join pg_trigger on tgrelid = pg_class.oid and not tgisinternal
    where relnamespace = current_schema()::regnamespace and relkind = 'r' group by relname
    union all
    select 'policy ' || tablename || '.' || policyname, concat_ws(' ', roles, cmd, permissive, qual, with_check)
    from pg_policies where schemaname = current_schema()
    union all
    select 'rules of ' || relname, string_agg(pg_get_constraintdef(pg_constraint.oid), '; ' order by conname)
    -- Postgres 18 also lists each column that is not null, so that every new column would count as a change of its
    -- table.
    from pg_class left join pg_constraint on conrelid = pg_class.oid and contype <> 'n'
    where relnamespace = current_schema()::regnamespace and relkind = 'r' group by relname
    union all
    select 'required in ' || table_name,
      string_agg(column_name, ', ' order by column_name) filter (where is_nullable = 'NO' and column_default is null)
    from information_schema.columns where table_schema = current_schema() group by table_name`.execute(db);
  return new Map(rows.map(({ name, facts }) => [name, facts]));
}

/**
 * Changes to functions, unique indexes and triggers on which earlier versions run; reviewed. A new migration on which they don't run
 * declares `compatibleFrom` instead.
 */
const reviewed: Readonly<Record<string, readonly string[]>> = {
  // The same functions, with names that are qualified with the schema.
  "0009-restorable-dumps": [
    "function is_own_key(uuid)",
    "function is_own_workspace(uuid)",
    "function name_first_user_operator()",
  ],
  // Deletes the counters of deleted keys, which nothing reads without the key.
  "0010-purged-keys": ["triggers of api_keys"],
  // Add what earlier versions count to new tables.
  "0018-workspace-usage-rollups": ["triggers of key_usage_hours"],
  // Rejects only service accounts, as owners or in other workspaces. Earlier versions create none.
  "0021-service-accounts": ["triggers of members"],
  // Increment versions of owners, after which nodes only read what they have cached again.
  "0037-factors-of-key-owners": [
    "triggers of passkeys",
    "triggers of totp_factors",
    "triggers of workspaces",
  ],
  // Count in a new column. Rows that this adds count 0 keys, which earlier versions read like a missing row.
  "0039-consumers": ["triggers of consumers"],
  // Write only to a new table.
  "0040-issued-key-lists": ["triggers of issued_keys"],
  // A faster function, with the same result.
  "0054-differences-of-permissions": ["function list_issued_key_permissions()"],
  // Adds the uses that later versions counted to the counter that earlier versions read.
  "0055-uses-of-issued-keys": ["triggers of key_counters"],
  // A faster function, with the same result.
  "0056-listed-permissions": ["function list_issued_key_permissions()"],
  // Leaves some records of a deleted user to the purge.
  "0058-records-left-to-the-purge": ["function delete_records_of_user()"],
  // Ignores jobs that wait for their queue. Earlier versions read the same columns.
  "0067-delayed-jobs": ["function count_jobs()"],
};

test("a migration that does not state its compatible versions only adds", async () => {
  const undeclared: Record<string, readonly string[]> = {};
  let before: Contract = new Map();
  for (const { name, contract } of steps) {
    const changes = listChanges(before, contract);
    // Earlier migrations were released when all nodes had to be replaced at the same time.
    const isLater = name > "0003-narrowed-keys";
    if (isLater && migrations[name]?.compatibleFrom === undefined && changes.length > 0)
      undeclared[name] = changes;
    before = contract;
  }
  expect(undeclared).toEqual(reviewed);
});

function listChanges(before: Contract, after: Contract): readonly string[] {
  return [...before]
    .filter(([subject, facts]) => after.get(subject) !== facts)
    .map(([subject]) => subject)
    .sort();
}

test("the comparison of schemas includes privileges on tables and functions, and the first rule of a table", async () => {
  const { db } = await createMigratedDatabase();
  await sql`create table bare (number integer)`.execute(db);
  await sql`grant truncate on bare to latchkey_tenant`.execute(db);
  const before = await describeContract(db);
  for (const [statement, changes] of [
    [
      "revoke delete on issued_key_permissions from latchkey_tenant",
      ["grant issued_key_permissions latchkey_tenant DELETE"],
    ],
    ["revoke truncate on bare from latchkey_tenant", ["grant bare latchkey_tenant TRUNCATE"]],
    ["revoke execute on function named_workspace() from public", ["grant named_workspace() PUBLIC EXECUTE"]],
    ["alter table bare add check (number > 0)", ["rules of bare"]],
    ["alter table bare add column required integer not null", ["required in bare"]],
    ["alter table bare add column optional integer", []],
  ] as const) {
    const trx = await db.startTransaction().execute();
    try {
      await sql.raw(statement).execute(trx);
      expect([statement, listChanges(before, await describeContract(trx))]).toEqual([statement, changes]);
    } finally {
      await trx.rollback().execute();
    }
  }
});

test("every foreign key has an index that begins with its columns", async () => {
  const { db } = await createMigratedDatabase();
  const { rows } = await sql`
    select conrelid::regclass::text || '.' || conname as name from pg_constraint c
    where contype = 'f' and connamespace = 'public'::regnamespace and not exists (
      select from pg_index i
      where i.indrelid = c.conrelid and (i.indkey::smallint[])[0:cardinality(c.conkey) - 1] = c.conkey
    )`.execute(db);
  expect(rows).toEqual([]);
});

/**
 * A template whose owner is not a superuser, with the roles granted as `latchkey start` advises, and an up-to-date
 * schema.
 */
let ordinaryTemplate: string;
let ordinaryOwner: Owner;
beforeAll(async () => {
  ordinaryTemplate = await createTemplate(async (database) => {
    ordinaryOwner = await createOwner(database.db);
    await migrate(await giveDatabase(database, ordinaryOwner));
  });
});

/** Creates a copy of it for the same owner. */
async function createOrdinaryOwnersDatabase() {
  const database = await copyTemplate(ordinaryTemplate);
  return { connection: await giveDatabase(database, ordinaryOwner), superuser: database.db };
}

/** Adds three workspaces, each with its own owner, who has the same ID as the workspace. */
async function addTenants(superuser: Db): Promise<void> {
  await sql`
    with owners as (
      insert into users (id, email, name)
      select gen_random_uuid(), 'owner-' || number || '@example.com', 'Ada' from generate_series(1, 3) number
      returning id
    ),
    theirs as (
      insert into workspaces (id, name, slug) select id, 'before', id::text from owners
      returning id
    )
    insert into members (workspace_id, user_id, role) select id, id, 'owner' from theirs`.execute(superuser);
}

async function changeAll(db: Kysely<unknown>): Promise<void> {
  await sql`update workspaces set name = 'after'`.execute(db);
  await sql`update members set version = version + 1`.execute(db);
}

/** The procedure in CONTRIBUTING.md. */
async function changeAllWithoutForcedSecurity(db: Kysely<unknown>): Promise<void> {
  await sql`alter table workspaces no force row level security`.execute(db);
  await sql`alter table members no force row level security`.execute(db);
  await changeAll(db);
  await sql`alter table workspaces force row level security`.execute(db);
  await sql`alter table members force row level security`.execute(db);
}

async function readTenants(superuser: Db): Promise<unknown[]> {
  const { rows } = await sql`
    select workspaces.name, members.version from workspaces
    join members on members.workspace_id = workspaces.id`.execute(superuser);
  return rows;
}

test("a migration that suspends forced row-level security changes the rows of all tenants for an owner who is not a superuser, and restores it", async () => {
  const { connection, superuser } = await createOrdinaryOwnersDatabase();
  await addTenants(superuser);
  const before = await describeSchema(superuser);
  const known = { ...migrations, "9999-sample": { up: changeAllWithoutForcedSecurity } };
  expect(await migrate(connection, { known })).toEqual(["9999-sample"]);
  expect(await readTenants(superuser)).toEqual(Array(3).fill({ name: "after", version: 2 }));
  expect(await describeSchema(superuser)).toEqual(before);
});

test("a migration that does not suspend forced row-level security changes no row", async () => {
  const { connection, superuser } = await createOrdinaryOwnersDatabase();
  await addTenants(superuser);
  const known = { ...migrations, "9999-sample": { up: changeAll } };
  expect(await migrate(connection, { known })).toEqual(["9999-sample"]);
  expect(await readTenants(superuser)).toEqual(Array(3).fill({ name: "before", version: 1 }));
});

test("admission reads its tables while the migrations of deleted workspaces and of indexes of logs wait for other transactions", async () => {
  const { connection, db } = await createDatabaseAt("0058-records-left-to-the-purge");
  const holders = [
    { table: "webhooks", holder: await lockTable(db, "webhooks"), reads: 10 },
    { table: "users", holder: await lockTable(db, "users"), reads: 10 },
    // Once is enough, because a migration that held the locks would hold them the whole time.
    { table: "security_events", holder: await lockTable(db, "security_events"), reads: 1 },
  ];
  const migrated = migrate(connection, { upTo: "0061-audit-events-by-actor-and-action" });
  onTestFinished(async () => void (await migrated.catch(() => undefined)));
  for (const { table, holder, reads } of holders) {
    for (let read = 0; read < reads; read += 1) {
      await expect.poll(() => isWaitingFor(db, table), { interval: 1 }).toBe(true);
      await db.transaction().execute(async (trx) => {
        await sql`set local lock_timeout = '5ms'`.execute(trx);
        await sql`select from workspace_key_access, workspaces`.execute(trx);
      });
    }
    await holder.commit().execute();
  }
  expect(await migrated).toEqual([
    "0059-deleted-workspaces",
    "0060-security-events-by-action",
    "0061-audit-events-by-actor-and-action",
  ]);
});

test("uses are counted while the migration of deleted workspaces waits, after those before it have locked the counters", async () => {
  const { connection, db } = await createDatabaseAt("0054-differences-of-permissions");
  const holder = await lockTable(db, "webhooks");
  const migrated = migrate(connection, { upTo: "0059-deleted-workspaces" });
  onTestFinished(async () => void (await migrated.catch(() => undefined)));
  await expect.poll(() => isWaitingFor(db, "webhooks"), { interval: 1 }).toBe(true);
  await db.transaction().execute(async (trx) => {
    await sql`set local lock_timeout = '5ms'`.execute(trx);
    await sql`lock table key_counters in row exclusive mode`.execute(trx);
  });
  await holder.commit().execute();
  expect((await migrated).at(-1)).toBe("0059-deleted-workspaces");
});

/** Whether a transaction waits for a lock of a table. Right after another lock is released, its connection can still count as waiting. */
async function isWaitingFor(db: Db, table: string): Promise<boolean> {
  const { rows } = await sql`
    select from pg_locks where not granted and relation = ${table}::regclass`.execute(db);
  return rows.length > 0;
}

/** Locks a table like a change of a row, in a transaction that stays open until it is committed, or the test ends. */
async function lockTable(db: Db, table: string): Promise<ControlledTransaction<Database>> {
  const trx = await db.startTransaction().execute();
  onTestFinished(async () => {
    if (!trx.isCommitted) await trx.rollback().execute();
  });
  await sql`lock table ${sql.table(table)} in row exclusive mode`.execute(trx);
  return trx;
}
