import { execFile } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { promisify } from "node:util";
import { sql } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { clientConfig, openDatabase } from "./connection.ts";
import { requireRoles } from "./database-roles.ts";
import type { ClusterConnection } from "./embedded/cluster-connection.ts";
import { createPoolClient } from "./pool-client.ts";
import { ReconnectBackoff } from "./reconnect-backoff.ts";
import { createDatabaseGate } from "./testing/database-gate.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(async () => {
  await database?.drop();
});

/** `ReadyForQuery`, which ends the start of a connection. */
const ready = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

/**
 * Creates a proxy on loopback that holds back the end of a connection's start. When this arrives, it calls `onStarted`. When Postgres
 * has ended the connection, it forwards all that it has held back in one packet.
 */
async function createLateProxy(target: ClusterConnection, onStarted: () => void): Promise<ClusterConnection> {
  const server = createServer((near) => {
    const far = connect(`${target.host}/.s.PGSQL.${target.port}`);
    const late: Buffer[] = [];
    near.pipe(far, { end: false });
    far.on("data", (data: Buffer) => {
      if (late.length === 0 && !data.includes(ready)) {
        near.write(data);
        return;
      }
      if (late.length === 0) onStarted();
      late.push(data);
    });
    far.on("end", () => near.end(Buffer.concat(late)));
    for (const socket of [near, far]) socket.on("error", () => undefined);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo; // It listens on TCP.
  return { ...target, host: "127.0.0.1", port };
}

test.each<readonly [string, (connection: ClusterConnection) => Promise<unknown>]>([
  [
    "of a pool",
    async (connection) => {
      await using db = openDatabase(connection, { applicationName: "latchkey ended early" });
      await sql`select 1`.execute(db);
    },
  ],
  ["that checks the roles", requireRoles],
])(
  "a connection %s that Postgres ends as soon as it is open fails the query, and doesn't end the process",
  async (_which, use) => {
    const end = async () =>
      await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name in ('latchkey ended early', 'latchkey start')`.execute(database.owner);
    const ended: Promise<unknown>[] = [];
    const connection = await createLateProxy(database.connection, () => ended.push(end()));
    await expect(use(connection)).rejects.toThrow(/connection error|terminat/i);
    expect(ended).toHaveLength(1);
    await Promise.all(ended);
  },
);

/** Opens a pool with one connection, which leads through a gate. */
async function openStallingPool() {
  const gate = await createDatabaseGate(database.connection);
  onTestFinished(gate.close);
  gate.open();
  const db = openDatabase(gate.connection, {
    applicationName: "latchkey stalled",
    role: "login",
    maxConnections: 1,
    statementTimeoutMs: 1_000,
    // Longer than the timeout of a statement, for which the second transaction of a test waits.
    connectTimeoutMs: 20_000,
  });
  onTestFinished(() => db.destroy());
  await sql`select 1`.execute(db);
  return { gate, db };
}

const noResponse = "Query read timeout";

test("a pool stops using a connection that is dead and was never closed, although it is busy", async () => {
  const { gate, db } = await openStallingPool();
  gate.stall();
  const begin = () => db.transaction().execute((trx) => sql`select 1`.execute(trx));
  // The second transaction waits for the connection while the first one fails.
  const [first, second] = await Promise.allSettled([begin(), begin()]);
  expect(first).toMatchObject({ status: "rejected", reason: { message: noResponse } });
  expect(second).toMatchObject({ status: "fulfilled" });
});

test("no statement runs in a transaction whose `begin` Postgres executed after the timeout", async () => {
  await sql`create table lines (text text)`.execute(database.owner);
  const { gate, db } = await openStallingPool();
  const forwardAgain = gate.stall();
  const begun = db.transaction().execute(async () => undefined);
  await expect(begun).rejects.toThrow(noResponse);
  forwardAgain();
  await sql`insert into lines values ('committed')`.execute(db);
  const { rows } = await sql`select text from lines`.execute(database.owner);
  expect(rows).toEqual([{ text: "committed" }]);
});

test.each([
  ["the user in the URL, even if the process's user has no name", "throw new Error()", "ada", "ada"],
  ["the user who runs the process, if the URL names no user", 'return { username: "runner" }', "", "runner"],
  ["$USER, if the URL names no user and the process's user has no name", "throw new Error()", "", "shell"],
])("signs in as %s", async (_which, body, userInUrl, expected) => {
  // Another process, because only its start reads the user.
  const script = `
    import os from "node:os";
    import { syncBuiltinESMExports } from "node:module";
    os.userInfo = () => { ${body}; };
    syncBuiltinESMExports();
    const { clientConfig } = await import(${JSON.stringify(import.meta.resolve("./connection.ts"))});
    const { default: pg } = await import(${JSON.stringify(import.meta.resolve("pg"))});
    const connectionString = "postgres://${userInUrl && `${userInUrl}@`}localhost/latchkey";
    process.stdout.write(String(new pg.Client(clientConfig({ connectionString }, "test")).user));`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script], {
    env: { USER: "shell" },
  });
  expect(stdout).toBe(expected);
});

test("an attempt to connect can have a shorter timeout than the pool, which also waits for it to be due", async () => {
  const gate = await createDatabaseGate(database.connection);
  onTestFinished(gate.close);
  gate.hold();
  const pool = new pg.Pool({
    Client: createPoolClient({
      backoff: new ReconnectBackoff(),
      connectTimeoutMs: 200,
      rejectsStandby: false,
    }),
    ...clientConfig(gate.connection, "latchkey hanging"),
    connectionTimeoutMillis: 60_000,
  });
  onTestFinished(() => pool.end());
  await expect(pool.query("select")).rejects.toThrow("timeout");
  gate.open();
  await expect
    .poll(() =>
      pool.query("select 1 as one").then(
        ({ rows }) => rows,
        () => [],
      ),
    )
    .toEqual([{ one: 1 }]);
});
