import { once } from "node:events";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server } from "node:net";
import { join } from "node:path";
import { migrate } from "@latchkey/db/migrate";
import { createDatabase } from "@latchkey/db/testing/test-cluster";
import { openTestPool } from "@latchkey/db/testing/test-connection";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommandInProcess } from "../support/command.ts";
import { open } from "../support/inspection.ts";
import { connectionTo, findPostmaster } from "../support/postmaster.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import { authSecret, type ProcessResult } from "../support/product.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { createTestInstance, type TestInstance } from "../support/test-instance.ts";

// Each of these exits before it serves requests, with one sentence that gives the reason.

const password = "never-to-be-printed";

let instance: TestInstance;
/** A running Postgres in a separate data directory. */
let other: TestInstance;
let proxy: TcpProxy;
/** Accepts connections and sends nothing. */
let silentServer: Server;
let silentPort: number;

beforeAll(async () => {
  [instance, other] = await Promise.all([createTestInstance(), createPreparedInstance()]);
  await other.startInProcess();
  proxy = await startTcpProxy(join(other.cluster, ".s.PGSQL.5432"));
  silentServer = createServer((socket) => socket.on("error", () => undefined));
  silentServer.listen(0, "127.0.0.1");
  await once(silentServer, "listening");
  silentPort = (silentServer.address() as AddressInfo).port; // It listens on TCP.
});

afterAll(async () => {
  silentServer?.close();
  await proxy?.close();
  await Promise.all([instance?.close(), other?.close()]);
});

/** Expects that the node exited with this reason in one line, and left no Postgres running. */
async function expectFailedStart(ending: ProcessResult, reason: RegExp): Promise<void> {
  expect(ending.stderr).toMatch(/^Latchkey cannot start\. [^\n]*[^\n.]\.\n$/);
  expect(ending.stderr).toMatch(reason);
  expect(ending.stderr + ending.stdout).not.toContain(password);
  expect(ending.stdout).toBe("");
  expect(ending.status).toBe(1);
  // Less than the 30 s for which a node retries a database that is not up.
  expect(ending.tookMs - ending.queuedMs).toBeLessThan(20_000);
  expect(await findPostmaster(instance.cluster)).toBeUndefined();
}

test("a port in use", async () => {
  await expectFailedStart(
    await instance.run({ PORT: String(silentPort) }),
    /Port \d+ on 127\.0\.0\.1 is already in use/,
  );
});

test.each(["http", "65536", "-1", "40.5"])("an invalid PORT: %s", async (port) => {
  await expectFailedStart(await instance.run({ PORT: port }), /PORT must be/);
});

test("a HOST of another machine", async () => {
  await expectFailedStart(
    await instance.run({ HOST: "192.0.2.1" }),
    /Latchkey can't listen on HOST 192\.0\.2\.1/,
  );
});

test("a DATABASE_URL without AUTH_SECRET", async () => {
  const variables = { DATABASE_URL: `postgres://latchkey:${password}@127.0.0.1:1/latchkey` };
  await expectFailedStart(await instance.run(variables), /AUTH_SECRET is required/);
});

test("an AUTH_SECRET that is too short, which is not printed", async () => {
  await expectFailedStart(await instance.run({ AUTH_SECRET: password }), /AUTH_SECRET must have at least 32/);
});

test("a DATABASE_URL with a wrong password, without a wait", async () => {
  const url = `postgres://latchkey:${password}@127.0.0.1:${proxy.port}/latchkey`;
  const reason = /can't be used: password authentication failed/;
  await expectFailedStart(await instance.run({ DATABASE_URL: url, AUTH_SECRET: authSecret }), reason);
});

test("a DATABASE_URL without the password that the server requires, without a wait", async () => {
  const url = `postgres://latchkey@127.0.0.1:${proxy.port}/latchkey`;
  const reason = /can't be used: the server requires a password, and the URL has none\.$/m;
  await expectFailedStart(await instance.run({ DATABASE_URL: url, AUTH_SECRET: authSecret }), reason);
});

test("a database that accepts no writes, such as a standby, and a command that changes it", async () => {
  const connection = { ...(await connectionTo(other.cluster)), database: "standby" };
  await createDatabase(connection, "standby");
  await migrate(connection);
  const client = await open(connection);
  // The embedded Postgres has another user, of which a command would warn.
  await client.query("revoke connect on database standby from public");
  await client.query("alter database standby set default_transaction_read_only = on");
  await client.end();
  const url = `postgres://latchkey:${connection.password}@127.0.0.1:${proxy.port}/standby`;
  const variables = { DATABASE_URL: url, AUTH_SECRET: authSecret };
  const reason = "The database is unavailable or busy: cannot execute INSERT in a read-only transaction.";
  const stderr = `Latchkey cannot start. ${reason}\n`;
  expect(await instance.run(variables)).toMatchObject({ status: 1, stderr });
  const ada = ["user", "create", "--email", "ada@example.com", "--name", "Ada", "--password-stdin"];
  expect(await runCommandInProcess(ada, variables, "a horse that counts to ten\n")).toMatchObject({
    status: 1,
    stdout: "",
    stderr: `${JSON.stringify({ error: { code: "SERVICE_UNAVAILABLE", message: reason } })}\n`,
  });
});

test("a DATABASE_URL with a database that does not exist, without a wait", async () => {
  const { password: right } = await connectionTo(other.cluster);
  const url = `postgres://latchkey:${right}@127.0.0.1:${proxy.port}/nowhere`;
  const reason =
    /127\.0\.0\.1:\d+\/nowhere\) can't be used: database "nowhere" does not exist\. Latchkey creates only the schema\. Create/;
  await expectFailedStart(await instance.run({ DATABASE_URL: url, AUTH_SECRET: authSecret }), reason);
});

test("a DATABASE_URL with a # in its password", async () => {
  const variables = {
    DATABASE_URL: `postgres://latchkey:${password}#1@127.0.0.1:1/x`,
    AUTH_SECRET: authSecret,
  };
  await expectFailedStart(
    await instance.run(variables),
    /DATABASE_URL must not contain "#": write it as "%23"/,
  );
});

test("a database with another application's migrations table, which isn't changed", async () => {
  const connection = { ...(await connectionTo(other.cluster)), database: "elsewhere" };
  await createDatabase(connection, "elsewhere");
  const client = await open(connection);
  await client.query("create table migrations (id serial primary key, migration text)");
  const url = `postgres://latchkey:${connection.password}@127.0.0.1:${proxy.port}/elsewhere`;
  const reason = /a table "migrations" in the schema "public" that is not Latchkey's/;
  await expectFailedStart(await instance.run({ DATABASE_URL: url, AUTH_SECRET: authSecret }), reason);
  const { rows } = await client.query("select tablename from pg_tables where schemaname = 'public'");
  await client.end();
  expect(rows).toEqual([{ tablename: "migrations" }]);
});

test("a DATABASE_URL that isn't a Postgres URL", async () => {
  const variables = { DATABASE_URL: `mysql://latchkey:${password}@127.0.0.1:1/x`, AUTH_SECRET: authSecret };
  await expectFailedStart(await instance.run(variables), /DATABASE_URL must be a URL/);
});

test("a data directory that is a file", async () => {
  const path = join(instance.directory, "file");
  await writeFile(path, "");
  await expectFailedStart(await instance.run({ DATA_DIR: path }), /cannot write its data directory .*file/);
  await expectFailedStart(
    await instance.run({ DATA_DIR: join(path, "data") }),
    /cannot write its data directory/,
  );
});

test("a data directory that isn't writable", async () => {
  const closed = join(instance.directory, "closed");
  await mkdir(closed);
  await chmod(closed, 0o500);
  // Root can write everywhere except on a file system that accepts no files.
  const path = process.getuid?.() === 0 ? "/proc/latchkey/data" : join(closed, "data");
  await expectFailedStart(await instance.run({ DATA_DIR: path }), /cannot write its data directory/);
});

test("a database that lost a policy, a grant and row-level security, naming each", async () => {
  const damaged = await createPreparedInstance();
  try {
    const node = await damaged.startInProcess();
    const client = await open(await connectionTo(damaged.cluster));
    await client.query("drop policy named_workspace on audit_events");
    await client.query("revoke select on members from latchkey_tenant");
    await client.query("alter table workspaces disable row level security");
    await client.end();
    await node.stop();
    const { status, stderr } = await damaged.run();
    expect(status).toBe(1);
    expect(stderr).toBe(
      "Latchkey cannot start. The database no longer isolates tenants: " +
        'row-level security of the table "workspaces" is disabled. ' +
        'The database is also incomplete: the table "audit_events" lacks the policy "named_workspace", ' +
        'so the role "latchkey_tenant" can\'t access the rows that the policy allows; ' +
        'the role "latchkey_tenant" lacks select on the table "members", so statements that need it fail. ' +
        "To repair it, run `latchkey migrate --repair`, or have the owner of the database run: " +
        "alter table workspaces enable row level security, force row level security; " +
        "create policy named_workspace on audit_events for all to latchkey_tenant using ((workspace_id = named_workspace())); " +
        "grant select on members to latchkey_tenant;\n",
    );
    expect(await findPostmaster(damaged.cluster)).toBeUndefined();
    expect(await damaged.command(["migrate"])).toMatchObject({ status: 1 });
    // The embedded Postgres has no client to run statements with.
    expect(await damaged.command(["migrate", "--repair"])).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^Applied +none\nRepaired +row-level security of the table "workspaces"/),
      stderr: "",
    });
    await damaged.startInProcess();
  } finally {
    await damaged.close();
  }
});

test("a schema of a newer, incompatible version", async () => {
  const newer = await createPreparedInstance();
  try {
    const node = await newer.startInProcess();
    const db = openTestPool(await connectionTo(newer.cluster), { applicationName: "test", role: "login" });
    const migration = { name: "9999-from-the-future", timestamp: "2099-01-01T00:00:00.000Z" };
    await db
      .withTables<{ migrations: typeof migration }>()
      .insertInto("migrations")
      .values(migration)
      .execute();
    await db.destroy();
    await node.stop();
    await expectFailedStart(
      await newer.run(),
      /needs a newer version of Latchkey: it has the migration "9999-from-the-future"/,
    );
    expect(await findPostmaster(newer.cluster)).toBeUndefined();
  } finally {
    await newer.close();
  }
});
