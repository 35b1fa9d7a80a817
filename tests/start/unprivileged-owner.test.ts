import { createDatabase, startTestCluster, type TestCluster } from "@latchkey/db/testing/test-cluster";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKey, signUp } from "../support/account.ts";
import { runCommandInProcess } from "../support/command.ts";
import { callOpen } from "../support/open-call.ts";
import { authSecret, type ProductNode, type Variables } from "../support/product.ts";
import { createTestInstance, type TestInstance } from "../support/test-instance.ts";
import { untilAnswered } from "../support/until-answered.ts";

// A database whose user isn't a superuser, as managed Postgres services provide it.

const password = "a password for tests";
let instance: TestInstance;
let cluster: TestCluster;
let superuser: pg.Client;

beforeAll(async () => {
  [instance, cluster] = await Promise.all([createTestInstance(), startTestCluster()]);
  superuser = new pg.Client({ ...cluster.connection, database: "postgres" });
  await superuser.connect();
});

afterAll(async () => {
  await superuser?.end();
  await instance?.close();
  await cluster?.stop();
});

/** Creates a user with these attributes, and a database that the user owns. */
async function addOwner(name: string, attributes: string): Promise<Variables> {
  await superuser.query(`create role ${name} login ${attributes} password '${password}'`);
  await createDatabase(cluster.connection, name);
  await superuser.query(`alter database ${name} owner to ${name}`);
  const host = encodeURIComponent(cluster.connection.host);
  return {
    DATABASE_URL: `postgres://${name}:${encodeURIComponent(password)}@${host}/${name}`,
    AUTH_SECRET: authSecret,
  };
}

async function expectInUse(node: ProductNode): Promise<void> {
  const account = await signUp(node.baseUrl);
  const { key } = await createKey(node.baseUrl, account, "first");
  expect((await untilAnswered(() => callOpen(node.baseUrl, key))).status).toBe(200);
  expect((await untilAnswered(() => callOpen(node.baseUrl, key, "/open/workspaces"))).status).toBe(200);
}

test("an owner that can't create roles gets the statements for a superuser, which suffice", async () => {
  const variables = await addOwner("plain", "");
  const failed = await instance.run(variables);
  expect(failed.status).toBe(1);
  const advice = /Have a superuser run, once: (.*;) \(a role/.exec(failed.stderr)?.[1];
  expect(advice).toBe(
    'create role latchkey_tenant nologin; create role latchkey_admission nologin; grant latchkey_tenant, latchkey_admission to "plain";',
  );
  expect(failed.stderr).toContain('The database user "plain" can\'t assume');
  expect(failed.stderr).not.toContain(password);
  expect(failed.stderr).not.toContain("    at ");
  await superuser.query(advice ?? "");
  await expectInUse(await instance.start(variables));
});

test("uses roles that another database's owner created, once they are granted", async () => {
  const variables = await addOwner("newcomer", "createrole");
  const failed = await instance.run(variables);
  expect(failed.status).toBe(1);
  expect(failed.stderr).toContain('grant latchkey_tenant, latchkey_admission to "newcomer";');
  await superuser.query("grant latchkey_tenant, latchkey_admission to newcomer");
  await expectInUse(await instance.start(variables));
});

test("a start and a command warn of users of other instances who can connect to the database, until they can't", async () => {
  const variables = await addOwner("neighbor", "");
  for (const role of ["latchkey_tenant", "latchkey_admission"])
    await superuser.query(
      `do $$ begin create role ${role} nologin; exception when duplicate_object then null; end $$`,
    );
  await superuser.query("create role staging login");
  await superuser.query("grant latchkey_tenant, latchkey_admission to neighbor, staging");
  const { rows } = await superuser.query<{ names: string }>(`
    select string_agg(quote_ident(rolname), ', ' order by rolname) as names from pg_roles
    where rolcanlogin and not rolsuper and rolname <> 'neighbor'`);
  const names = rows[0]?.names.replace(/\w+/g, '"$&"');
  const statements = `revoke connect on database "neighbor" from public, ${names}; grant connect on database "neighbor" to "neighbor";`;
  const warning = `These other database users can read and change all data of this instance: ${names}. To keep them out, run: ${statements}`;
  const node = await instance.start(variables);
  expect(node.output()).toContain(JSON.stringify(warning));
  expect(await node.stop()).toBe(0);
  const list = () => runCommandInProcess(["user", "list"], variables);
  expect(await list()).toMatchObject({ status: 0, stderr: `Warning: ${warning}\n` });
  const owner = new pg.Client({ ...cluster.connection, user: "neighbor", password, database: "neighbor" });
  await owner.connect();
  await owner.query(statements);
  await owner.end();
  expect(await list()).toMatchObject({ status: 0, stderr: "" });
});

test("an owner that can create roles needs no superuser, and is subject to row-level security", async () => {
  const other = await startTestCluster();
  try {
    const admin = new pg.Client({ ...other.connection, database: "postgres" });
    await admin.connect();
    await admin.query(`create role maker login createrole password '${password}'`);
    await admin.query("create database maker owner maker");
    await admin.end();
    const host = encodeURIComponent(other.connection.host);
    const url = `postgres://maker:${encodeURIComponent(password)}@${host}/maker`;
    const node = await instance.start({ DATABASE_URL: url, AUTH_SECRET: authSecret });
    await expectInUse(node);
    const owner = new pg.Client({ ...other.connection, user: "maker", password, database: "maker" });
    await owner.connect();
    try {
      expect((await owner.query("select current_user::text as name")).rows).toEqual([{ name: "maker" }]);
      for (const table of ["workspaces", "members", "audit_events"])
        await expect(owner.query(`select from ${table}`), table).rejects.toThrow(
          "row-level security hides the rows of tenants from the owner of the database",
        );
    } finally {
      await owner.end();
    }
    expect(await node.stop()).toBe(0);
  } finally {
    await other.stop();
  }
});
