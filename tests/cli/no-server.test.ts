import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { access } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { encodeId, type WorkspaceId } from "@latchkey/db/ids";
import { migrate } from "@latchkey/db/migrate";
import { createDatabase, startTestCluster } from "@latchkey/db/testing/test-cluster";
import { openTestPool } from "@latchkey/db/testing/test-connection";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { signIn } from "../support/account.ts";
import { runCommandInProcess } from "../support/command.ts";
import { callOpen } from "../support/open-call.ts";
import { connectionTo, eventually, findPostmaster } from "../support/postmaster.ts";
import { type ProcessResult, runCommand, spawnCommand } from "../support/product.ts";
import { createTestInstance, type TestInstance } from "../support/test-instance.ts";
import { expectFailure, expectResult, expectText } from "./expect-result.ts";

// The command without a server: it starts Postgres and leaves nothing running.

const password = "twelve characters or more";
const email = "first@example.com";

let instance: TestInstance;

beforeAll(async () => {
  instance = await createTestInstance({}, { deadlines: "patient" });
});

afterAll(async () => {
  await instance?.close();
});

/** A separate process, for tests of how the process exits. */
const runProcess = (args: readonly string[]): Promise<ProcessResult> =>
  runCommand(args, { DATA_DIR: instance.dataDirectory });

async function perform(args: readonly string[], input?: string): Promise<Record<string, unknown>> {
  const result = expectResult(await instance.command([...args, "--json"], input));
  expect(await findPostmaster(instance.cluster)).toBeUndefined();
  return result;
}

test("a usage error is JSON on stderr, with status 2", async () => {
  const ending = await runProcess(["key", "create", "--user", email]);
  expectFailure(ending, { status: 2, code: "BAD_REQUEST", message: /'--name <name>' not specified/ });
});

test("--help explains a command on stdout, with status 0", async () => {
  const { status, stdout, stderr } = await runProcess(["member", "add", "--help"]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).toMatch(/^Usage: latchkey member add \[options\]\n/);
});

test("--version prints the version", async () => {
  const { status, stdout, stderr } = await runProcess(["--version"]);
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: `${packageJson.version}\n`, stderr: "" });
});

test("without a database, the command fails with an explanation and creates none", async () => {
  expectFailure(await runProcess(["key", "list"]), {
    status: 1,
    code: "NOT_FOUND",
    message:
      `There is no Latchkey database in ${instance.dataDirectory}. ` +
      "Set DATA_DIR, or DATABASE_URL for your own Postgres, to an existing one, or create it with `latchkey migrate`.",
  });
  await expect(access(instance.dataDirectory)).rejects.toThrow("ENOENT");
});

test("doesn't create the schema in DATABASE_URL either, except for migrate and user create", async () => {
  const cluster = await startTestCluster();
  try {
    await createDatabase(cluster.connection, "empty");
    const { host, user, password: secret } = cluster.connection;
    const url = `postgres://${user}:${secret}@${encodeURIComponent(host)}/empty`;
    const run = (args: readonly string[], input?: string) =>
      runCommandInProcess(args, { DATABASE_URL: url }, input);
    expectFailure(await run(["key", "list"]), {
      status: 1,
      code: "NOT_FOUND",
      message: /^There is no Latchkey database in postgres:.*\/empty\. Set DATABASE_URL to an existing one/,
    });
    const nowhere = { DATABASE_URL: url.replace(/empty$/, "nowhere") };
    for (const args of [["key", "list"], ["migrate"]])
      expectFailure(await runCommandInProcess(args, nowhere), {
        status: 1,
        code: "NOT_FOUND",
        message:
          /\/nowhere\) can't be used: database "nowhere" does not exist\. Latchkey creates only the schema\. Create the database/,
      });
    const client = new pg.Client({ ...cluster.connection, database: "empty" });
    await client.connect();
    const { rowCount } = await client.query("select from pg_tables where schemaname = 'public'");
    await client.end();
    expect(rowCount).toBe(0);
    const created = await run(["migrate"]);
    expect(created.stderr).toMatch(/^Created a Latchkey database in postgres:\S*\/empty\.\n$/);
    expect(expectResult(await run(["key", "list", "--json"]))).toEqual({ data: [] });
  } finally {
    await cluster.stop();
  }
});

test("on a schema of an earlier version, a command migrates it and says so, unless a signal arrives before", async () => {
  const cluster = await startTestCluster();
  const holder = new pg.Client({ ...cluster.connection, database: "interrupted" });
  const { host, user, password: secret } = cluster.connection;
  const createFormer = async (database: string) => {
    await createDatabase(cluster.connection, database);
    await migrate({ ...cluster.connection, database }, { upTo: "0060-security-events-by-action" });
    const url = `postgres://${user}:${secret}@${encodeURIComponent(host)}/${database}`;
    return { DATABASE_URL: url, DATABASE_URI: "misspelled" };
  };
  try {
    const variables = await createFormer("interrupted");
    await holder.connect();
    const id = randomUUID() as WorkspaceId;
    await holder.query("insert into workspaces (id, name, slug) values ($1, 'Team', 'team')", [id]);
    await holder.query("begin; lock table audit_events in row exclusive mode");
    const child = spawnCommand(
      ["workspace", "delete", encodeId("workspace", id), "--confirm", "team"],
      variables,
    );
    const closed = once(child, "close");
    await eventually("the migration waits", async () => {
      const { rowCount } = await holder.query("select from pg_locks where not granted");
      return rowCount === 1;
    });
    child.kill("SIGINT");
    await holder.query("commit");
    expect(await closed).toEqual([null, "SIGINT"]);
    const { rowCount } = await holder.query("select from workspaces");
    expect(rowCount).toBe(1);

    const former = await createFormer("former");
    const { status, stdout, stderr } = await runCommandInProcess(["user", "list"], former);
    expect({ status, stdout, stderr }).toEqual({
      status: 0,
      stdout: "No users.\n",
      stderr: expect.stringMatching(
        /^Warning: The environment variable DATABASE_URI has no effect; [^\n]+\nMigrated the schema: 0061-[^\n]+\.\n$/,
      ),
    });
  } finally {
    await holder.end();
    await cluster.stop();
  }
});

test("migrate creates the database, reports it on stderr, and stops Postgres", async () => {
  const { status, stdout, stderr } = await runProcess(["migrate", "--json"]);
  expect({ status, stderr }).toEqual({
    status: 0,
    stderr: `Created a Latchkey database in ${instance.dataDirectory}.\n`,
  });
  expect(JSON.parse(stdout).applied).toEqual(expect.arrayContaining(["0001-ground-floor"]));
  expect(await findPostmaster(instance.cluster)).toBeUndefined();
  expect(await perform(["migrate"])).toEqual({ applied: [], repaired: [] });
  expect(expectText(await instance.command(["migrate"]))).toBe("Applied  none\n");
});

test("user create also creates the database, and reports it", async () => {
  const other = await createTestInstance();
  try {
    const create = ["user", "create", "--email", email, "--name", "First", "--password-stdin", "--json"];
    const { status, stderr } = await other.command(create, password);
    const message = `Created a Latchkey database in ${other.dataDirectory}.\n`;
    expect({ status, stderr }).toEqual({ status: 0, stderr: message });
    // A server that starts later may have an AUTH_SECRET that the command doesn't know.
    const { id } = expectResult(
      await other.command(["workspace", "create", "--name", "Team", "--owner", email, "--json"]),
    );
    const webhook = ["webhook", "create", "--workspace", String(id), "--url", "https://example.com"];
    expectFailure(await other.command(webhook), {
      status: 1,
      code: "SERVICE_UNAVAILABLE",
      message: /^The data directory has no auth-secret, /,
    });
    await expect(access(join(other.dataDirectory, "auth-secret"))).rejects.toThrow("ENOENT");
  } finally {
    await other.close();
  }
});

test("lists of an empty instance are empty, and the commands stop Postgres", async () => {
  for (const [group, text] of [
    ["workspace", "No workspaces.\n"],
    ["user", "No users.\n"],
    ["key", "No API keys.\n"],
  ] as const) {
    expect(await perform([group, "list"])).toEqual({ data: [] });
    expect(expectText(await instance.command([group, "list"]))).toBe(text);
    expect(await findPostmaster(instance.cluster)).toBeUndefined();
  }
});

test("an interrupted command stops the Postgres that it started, and exits by the signal", async () => {
  const child = spawnCommand(["workspace", "list"], { DATA_DIR: instance.dataDirectory });
  const closed = once(child, "close");
  const printed = text(child.stderr);
  const isRunning = async () => (await findPostmaster(instance.cluster)) !== undefined;
  await eventually("Postgres starts", isRunning);
  child.kill("SIGTERM");
  expect(await closed, await printed).toEqual([null, "SIGTERM"]);
  expect(await findPostmaster(instance.cluster)).toBeUndefined();
});

test("only the first user is the operator; a server that starts later accepts the users and their keys", async () => {
  const create = (address: string) =>
    perform(["user", "create", "--email", address, "--name", "First", "--password-stdin"], `${password}\n`);
  await create(email);
  await create("second@example.com");
  const { key } = await perform(["key", "create", "--user", email, "--name", "first"]);

  const node = await instance.start();
  expect((await signIn(node.baseUrl, { email, password })).status).toBe(200);
  expect((await callOpen(node.baseUrl, String(key))).status).toBe(200);
  const db = openTestPool(await connectionTo(instance.cluster), { applicationName: "test" });
  const operators = await db.selectFrom("users").select("email").where("is_operator", "=", true).execute();
  await db.destroy();
  expect(operators).toEqual([{ email }]);
  expect(await node.stop()).toBe(0);
});

function expectUnavailable(ending: ProcessResult, message: RegExp): void {
  expect(ending.stdout).toBe("");
  expect(ending.stderr).not.toContain("never-to-be-printed");
  expect(JSON.parse(ending.stderr)).toEqual({
    error: { code: "SERVICE_UNAVAILABLE", message: expect.stringMatching(message) },
  });
  expect(ending.status).toBe(1);
  expect(ending.tookMs - ending.queuedMs).toBeLessThan(10_000);
}

test("an unreachable database is an error with status 1, without a long wait", async () => {
  const silentServer = createServer((socket) => socket.on("error", () => undefined));
  silentServer.listen(0, "127.0.0.1");
  await once(silentServer, "listening");
  const { port } = silentServer.address() as AddressInfo; // It listens on TCP.
  const at = (where: number) => ({
    DATABASE_URL: `postgres://latchkey:never-to-be-printed@127.0.0.1:${where}/latchkey`,
  });
  expectUnavailable(await runCommandInProcess(["migrate"], at(1)), /ECONNREFUSED/);
  expectUnavailable(await runCommandInProcess(["migrate"], at(port)), /timeout/);
  silentServer.close();
});

test("an invalid variable is an error with status 1 that names it", async () => {
  const ending = await runCommand(["migrate"], { DATABASE_URL: "mysql://127.0.0.1/x" });
  expect(JSON.parse(ending.stderr)).toEqual({
    error: { code: "BAD_REQUEST", message: expect.stringMatching(/^DATABASE_URL must be/) },
  });
  expect(ending.status).toBe(1);
});
