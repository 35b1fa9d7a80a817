import { once } from "node:events";
import { access } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { text } from "node:stream/consumers";
import { openDatabase } from "@latchkey/db/connection";
import { createDatabase, startTestCluster } from "@latchkey/db/testing/test-cluster";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { signIn } from "../support/account.ts";
import { runCommandHere } from "../support/command.ts";
import { callOpen } from "../support/open-call.ts";
import { createPlace, type Place } from "../support/place.ts";
import { connectionTo, eventually, findPostmaster } from "../support/postmaster.ts";
import { type Ending, runCommand, spawnCommand } from "../support/product.ts";
import { expectFailure, expectResult, expectText } from "./expect-ending.ts";

// The command alone with a data directory: it starts Postgres for itself and leaves nothing running.

const password = "twelve characters or more";
const email = "first@example.com";

let place: Place;

beforeAll(async () => {
  place = await createPlace();
});

afterAll(async () => {
  await place?.close();
});

/** A process, where what ends is the process. */
const runProcess = (args: readonly string[]): Promise<Ending> =>
  runCommand(args, { DATA_DIR: place.dataDirectory });

async function perform(args: readonly string[], input?: string): Promise<Record<string, unknown>> {
  const result = expectResult(await place.command([...args, "--json"], input));
  expect(await findPostmaster(place.cluster)).toBeUndefined();
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

test("without a database the command says so and creates none", async () => {
  expectFailure(await runProcess(["key", "list"]), {
    status: 1,
    code: "NOT_FOUND",
    message:
      `There is no Latchkey database in ${place.dataDirectory}. ` +
      "Set DATA_DIR to an existing one, or create it with `latchkey migrate`.",
  });
  await expect(access(place.dataDirectory)).rejects.toThrow("ENOENT");
});

test("the database of DATABASE_URL is not filled either, except by migrate and user create", async () => {
  const cluster = await startTestCluster();
  try {
    await createDatabase(cluster.connection, "empty");
    const { host, user, password: secret } = cluster.connection;
    const url = `postgres://${user}:${secret}@${encodeURIComponent(host)}/empty`;
    const run = (args: readonly string[], input?: string) =>
      runCommandHere(args, { DATABASE_URL: url }, input);
    expectFailure(await run(["key", "list"]), {
      status: 1,
      code: "NOT_FOUND",
      message: /^There is no Latchkey database in postgres:.*\/empty\. Set DATABASE_URL to an existing one/,
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

test("migrate creates the database, says so on stderr, and stops Postgres again", async () => {
  const { status, stdout, stderr } = await runProcess(["migrate", "--json"]);
  expect({ status, stderr }).toEqual({
    status: 0,
    stderr: `Created a Latchkey database in ${place.dataDirectory}.\n`,
  });
  expect(JSON.parse(stdout).applied).toEqual(expect.arrayContaining(["0001-ground-floor"]));
  expect(await findPostmaster(place.cluster)).toBeUndefined();
  expect(await perform(["migrate"])).toEqual({ applied: [] });
  expect(expectText(await place.command(["migrate"]))).toBe("Applied  none\n");
});

test("user create creates the database too, and says so", async () => {
  const other = await createPlace();
  try {
    const create = ["user", "create", "--email", email, "--name", "First", "--password-stdin", "--json"];
    const { status, stderr } = await other.command(create, password);
    const message = `Created a Latchkey database in ${other.dataDirectory}.\n`;
    expect({ status, stderr }).toEqual({ status: 0, stderr: message });
  } finally {
    await other.close();
  }
});

test("lists of an empty instance are empty, and stop Postgres again", async () => {
  for (const [group, text] of [
    ["workspace", "No workspaces.\n"],
    ["user", "No users.\n"],
    ["key", "No API keys.\n"],
  ] as const) {
    expect(await perform([group, "list"])).toEqual({ data: [] });
    expect(expectText(await place.command([group, "list"]))).toBe(text);
    expect(await findPostmaster(place.cluster)).toBeUndefined();
  }
});

test("a command that is interrupted stops the Postgres that it started, and ends by the signal", async () => {
  const child = spawnCommand(["workspace", "list"], { DATA_DIR: place.dataDirectory });
  const closed = once(child, "close");
  const printed = text(child.stderr);
  const isRunning = async () => (await findPostmaster(place.cluster)) !== undefined;
  await eventually("Postgres starts", isRunning, 20_000);
  child.kill("SIGTERM");
  expect(await closed, await printed).toEqual([null, "SIGTERM"]);
  expect(await findPostmaster(place.cluster)).toBeUndefined();
});

test("the first user is the operator and the second is not; a server that starts later knows them and their keys", async () => {
  const create = (address: string) =>
    perform(["user", "create", "--email", address, "--name", "First", "--password-stdin"], `${password}\n`);
  await create(email);
  await create("second@example.com");
  const { key } = await perform(["key", "create", "--user", email, "--name", "first"]);

  const node = await place.start();
  expect((await signIn(node.baseUrl, { email, password })).status).toBe(200);
  expect((await callOpen(node.baseUrl, String(key))).status).toBe(200);
  const db = openDatabase(await connectionTo(place.cluster), { applicationName: "test" });
  const operators = await db.selectFrom("users").select("email").where("is_operator", "=", true).execute();
  await db.destroy();
  expect(operators).toEqual([{ email }]);
  expect(await node.stop()).toBe(0);
});

function expectUnavailable(ending: Ending, message: RegExp): void {
  expect(ending.stdout).toBe("");
  expect(ending.stderr).not.toContain("never-to-be-printed");
  expect(JSON.parse(ending.stderr)).toEqual({
    error: { code: "SERVICE_UNAVAILABLE", message: expect.stringMatching(message) },
  });
  expect(ending.status).toBe(1);
  expect(ending.tookMs).toBeLessThan(10_000);
}

test("a database that cannot be reached is an error with status 1, soon", async () => {
  const mute = createServer((socket) => socket.on("error", () => undefined));
  mute.listen(0, "127.0.0.1");
  await once(mute, "listening");
  const { port } = mute.address() as AddressInfo; // It listens on TCP.
  const at = (where: number) => ({
    DATABASE_URL: `postgres://latchkey:never-to-be-printed@127.0.0.1:${where}/latchkey`,
  });
  expectUnavailable(await runCommandHere(["migrate"], at(1)), /ECONNREFUSED/);
  expectUnavailable(await runCommandHere(["migrate"], at(port)), /timeout/);
  mute.close();
});

test("a variable that is off is an error with status 1 that names it", async () => {
  const ending = await runCommand(["migrate"], { DATABASE_URL: "mysql://127.0.0.1/x" });
  expect(JSON.parse(ending.stderr)).toEqual({
    error: { code: "BAD_REQUEST", message: expect.stringMatching(/^DATABASE_URL must be/) },
  });
  expect(ending.status).toBe(1);
});
