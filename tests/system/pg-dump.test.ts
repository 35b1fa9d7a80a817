import { rm } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callProcedure, createKey, signUp } from "../support/account.ts";
import { getMembership } from "../support/membership.ts";
import { callOpen } from "../support/open-call.ts";
import { authSecret, runCommand } from "../support/product.ts";
import { createTestInstance, type TestInstance } from "../support/test-instance.ts";
import { type DebianPostgres, startDebianPostgres } from "./debian-postgres.ts";

// The pg_dump commands of docs/backup.md, with an owner that isn't a superuser, restored to another server with
// another owner.

let instance: TestInstance;
let source: DebianPostgres;
let target: DebianPostgres;
let file: string;

beforeAll(async () => {
  instance = await createTestInstance({}, { deadlines: "patient" });
  file = join(instance.directory, "latchkey.dump");
  [source, target] = await Promise.all([startDebianPostgres(), startDebianPostgres()]);
});

afterAll(async () => {
  await instance?.close();
  await source?.stop();
  await target?.stop();
});

async function query(connectionString: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Every row of every table as JSON, by table. */
async function readRows(superuserUrl: string, database: string): Promise<Record<string, unknown>> {
  const url = new URL(`/${database}`, superuserUrl).href;
  const tables = await query(
    url,
    "select tablename as name from pg_tables where schemaname = 'public' order by 1",
  );
  const rows: Record<string, unknown> = {};
  for (const { name } of tables)
    rows[String(name)] = await query(url, `select to_jsonb(t) as row from "${name}" t order by t::text`);
  return rows;
}

/** Policies, functions, grants and row-level security, as text. */
async function describeProtection(superuserUrl: string, database: string): Promise<unknown> {
  return await query(
    new URL(`/${database}`, superuserUrl).href,
    `select 'policy' as kind, tablename || '.' || policyname as name, concat_ws(' ', roles, cmd, qual, with_check) as facts from pg_policies
    union all select 'function', oid::regprocedure::text, pg_get_functiondef(oid) from pg_proc where pronamespace = 'public'::regnamespace
    union all select 'trigger', tgname, pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
    union all select 'row-level security', relname, concat_ws(' ', relrowsecurity, relforcerowsecurity) from pg_class
      where relnamespace = 'public'::regnamespace and relkind = 'r'
    union all select 'grant', relname, string_agg(concat_ws(' ', grantee::regrole, privilege_type), ', ' order by grantee::regrole::text, privilege_type)
      from pg_class, aclexplode(relacl) where relnamespace = 'public'::regnamespace and grantee::regrole::text like 'latchkey%' group by relname
    union all select 'column grant', attrelid::regclass || '.' || attname, string_agg(concat_ws(' ', grantee::regrole, privilege_type), ', ' order by grantee::regrole::text, privilege_type)
      from pg_attribute, aclexplode(attacl) where grantee::regrole::text like 'latchkey%' group by attrelid, attname
    union all select 'constraint', conrelid::regclass || '.' || conname, pg_get_constraintdef(oid) from pg_constraint where connamespace = 'public'::regnamespace
    order by 1, 2`,
  );
}

const dumpArguments = (path: string) => ["--format=custom", "--enable-row-security", `--file=${path}`];

test("pg_dump as the owner contains every tenant, and fails instead of omitting rows", async () => {
  const node = await instance.start({ DATABASE_URL: source.databaseUrl, AUTH_SECRET: authSecret });
  const ada = await signUp(node.baseUrl, "ada@example.com");
  const grace = await signUp(node.baseUrl, "grace@example.com");
  const { key } = await createKey(node.baseUrl, ada, "CI");
  await createKey(node.baseUrl, grace, "unused");
  // Invitations have no policy for admission, so without `latchkey.backup` the owner gets an error instead of their rows.
  const { workspaceId } = await getMembership(node.baseUrl, ada);
  const invitation = { workspaceId, email: "alan@example.com", role: "viewer" } as const;
  await callProcedure(node.baseUrl, {
    path: "invitations.create",
    kind: "mutation",
    input: invitation,
    cookie: ada.cookie,
  });
  for (let use = 0; use < 3; use += 1) expect((await callOpen(node.baseUrl, key)).status).toBe(200);
  await node.stop();

  const { databaseUrl } = source;
  for (const args of [["--format=custom"], dumpArguments(file).slice(0, 2)])
    await expect(source.run("pg_dump", [...args, "--file=/dev/null", databaseUrl])).rejects.toThrow(
      /row-level security/,
    );
  await source.run("pg_dump", [...dumpArguments(file), databaseUrl], { PGOPTIONS: "-c latchkey.backup=on" });

  // Roles belong to the server, not to the database.
  const owner = "a password of the other owner";
  for (const statement of [
    "create role latchkey_tenant nologin",
    "create role latchkey_admission nologin",
    `create role other login password '${owner}'`,
    "grant latchkey_tenant, latchkey_admission to other",
    "create database other owner other",
  ])
    await query(target.superuserUrl, statement);
  const url = new URL("/other", target.databaseUrl);
  url.username = "other";
  url.password = owner;
  await target.run("pg_restore", [
    "--no-owner",
    "--exit-on-error",
    "--single-transaction",
    `--dbname=${url}`,
    file,
  ]);

  expect(await readRows(target.superuserUrl, "other")).toEqual(await readRows(source.superuserUrl, "tenant"));
  expect((await readRows(target.superuserUrl, "other")).workspaces).toHaveLength(2);
  expect(await describeProtection(target.superuserUrl, "other")).toEqual(
    await describeProtection(source.superuserUrl, "tenant"),
  );

  const restored = await instance.start({ DATABASE_URL: url.href, AUTH_SECRET: authSecret });
  expect((await callOpen(restored.baseUrl, key)).status).toBe(200);
  const list = { path: "apiKeys.list", kind: "query", input: {}, cookie: ada.cookie } as const;
  expect((await callProcedure(restored.baseUrl, list)).data).toMatchObject({
    total: 1,
    items: [{ name: "CI", usageCount: 4 }],
  });
});

test("pg_dump as a role with BYPASSRLS needs no options", async () => {
  for (const statement of [
    "create role backup login bypassrls password 'a password for tests'",
    "grant pg_read_all_data to backup",
  ])
    await query(source.superuserUrl, statement);
  const url = new URL(source.databaseUrl);
  url.username = "backup";
  url.password = "a password for tests";
  const path = join(instance.directory, "bypassrls.dump");
  await source.run("pg_dump", ["--format=custom", `--file=${path}`, url.href]);
  const data = await source.run("pg_restore", ["--data-only", "--table=workspaces", "--file=-", path]);
  expect(data.split("\n").filter((line) => /^[0-9a-f-]{36}\t/.test(line))).toHaveLength(2);
  await rm(path);
});

test("latchkey backup of this Postgres is restored into the embedded one", async () => {
  const path = join(instance.directory, "latchkey.backup");
  const made = await runCommand(["backup", path], { DATABASE_URL: source.databaseUrl });
  expect(made).toMatchObject({ status: 0, stderr: "" });
  expect(await instance.command(["restore", path])).toMatchObject({
    status: 0,
    stderr: `Created a Latchkey database in ${instance.dataDirectory}.\n`,
  });
  const listed = await Promise.all([
    instance.command(["key", "list", "--json"]),
    runCommand(["key", "list", "--json"], { DATABASE_URL: source.databaseUrl }),
  ]);
  expect(listed[0].stdout).toBe(listed[1].stdout);
  expect(JSON.parse(listed[0].stdout).data).toHaveLength(2);
});
