import { once } from "node:events";
import { appendFile, chown, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { migrate } from "@latchkey/db/migrate";
import { findFreePort } from "@latchkey/db/testing/free-port";
import { createDatabase, startTestCluster, type TestCluster } from "@latchkey/db/testing/test-cluster";
import { afterAll, beforeAll, expect, test } from "vitest";
import { statusOf } from "../support/open-call.ts";
import { eventually, findPostmaster } from "../support/postmaster.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import { measureQueuedMs, readQueuedMs } from "../support/processor-queue.ts";
import { authSecret, spawnCommand, spawnNode, type Variables } from "../support/product.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { createTestInstance, type TestInstance } from "../support/test-instance.ts";

// Starts a node on a database with an older schema, or before the database is available.

let instance: TestInstance;
let cluster: TestCluster;
let proxy: TcpProxy;

beforeAll(async () => {
  [instance, cluster] = await Promise.all([createTestInstance(), startTestCluster()]);
  proxy = await startTcpProxy(join(cluster.connection.host, ".s.PGSQL.5432"));
  await createDatabase(cluster.connection, "late");
});

afterAll(async () => {
  await instance?.close();
  await proxy?.close();
  await cluster?.stop();
});

test("a start that upgrades the schema logs the migrations", async () => {
  const { user, password } = cluster.connection;
  const connection = { ...cluster.connection, database: "former" };
  await createDatabase(cluster.connection, connection.database);
  await migrate(connection, { upTo: "0011-workspace-descriptions" });
  const node = await instance.start({
    DATABASE_URL: `postgres://${user}:${password}@127.0.0.1:${proxy.port}/former`,
    AUTH_SECRET: authSecret,
  });
  expect(node.output()).toMatch(
    /"migrations":\["0012-workspace-overview","[^\]]*\],"msg":"migrated the schema"/,
  );
});

test("it waits, reports it without the password, and starts as soon as the database is up", async () => {
  proxy.cut();
  const { user, password } = cluster.connection;
  const variables = {
    DATABASE_URL_FILE: join(instance.directory, "database-url"),
    AUTH_SECRET_FILE: join(instance.directory, "auth-secret"),
    DATABASE_URI: "postgres://misspelled.example.com/latchkey",
  };
  await writeFile(
    variables.DATABASE_URL_FILE,
    `postgres://${user}:${password}@127.0.0.1:${proxy.port}/late\n`,
  );
  await writeFile(variables.AUTH_SECRET_FILE, `${authSecret}\n`);
  const onLine = (line: string): void => {
    if (line.includes("isn't accepting connections yet")) proxy.accept();
  };
  const node = await instance.start(variables, { onLine, deadlines: "patient" });
  expect(node.output()).toContain(
    `The Postgres server in DATABASE_URL (postgres://127.0.0.1:${proxy.port}/late) isn't accepting connections yet: `,
  );
  expect(node.output()).toContain("Waiting for up to 30 s.");
  expect(node.output()).toContain("DATABASE_URI has no effect; did you mean DATABASE_URL?");
  expect(node.output()).not.toContain(password);
  expect(node.output()).not.toContain("misspelled");
  expect(await statusOf(node.baseUrl, "/readyz")).toBe(200);
  expect(await node.stop()).toBe(0);
});

test("it stops on a signal while it waits", async () => {
  const url = `postgres://latchkey@127.0.0.1:${await findFreePort()}/latchkey`;
  const child = spawnNode({ DATA_DIR: instance.dataDirectory, DATABASE_URL: url, AUTH_SECRET: authSecret });
  const closed = once(child, "close");
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue;
    createInterface(stream).on("line", (line) => {
      lines.push(line);
      if (line.includes("ECONNREFUSED")) child.kill("SIGTERM");
    });
  }
  expect(await closed).toEqual([0, null]);
  expect(lines.join("\n")).not.toContain("cannot start");
});

test.concurrent.each([
  ["a node", (variables: Variables) => spawnNode(variables), [0, null]],
  ["a command", (variables: Variables) => spawnCommand(["user", "list"], variables), [null, "SIGTERM"]],
  [
    "a backup",
    (variables: Variables) => spawnCommand(["backup", join(instance.directory, "none.backup")], variables),
    [null, "SIGTERM"],
  ],
])(
  "%s reports that the embedded Postgres recovers, stops on a signal, and leaves no Postgres",
  async (_what, spawnProcess, ending) => {
    const prepared = await createPreparedInstance();
    try {
      const { cluster, dataDirectory } = prepared;
      const { uid, gid } = await stat(cluster);
      // Recovers until it is promoted, and accepts no connections.
      await appendFile(join(cluster, "postgresql.conf"), "hot_standby = off\n");
      await writeFile(join(cluster, "standby.signal"), "");
      await chown(join(cluster, "standby.signal"), uid, gid);
      const child = spawnProcess({ DATA_DIR: dataDirectory });
      const closed = once(child, "close");
      const output: Buffer[] = [];
      for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => output.push(chunk));
      const read = () => Buffer.concat(output).toString();
      await eventually("it reports the recovery", async () => read().includes("Postgres is still starting"));
      const readLog = () => readFile(join(cluster, "postgres.log"), "utf8");
      await eventually("it recovers", async () => (await readLog()).includes("entering standby mode"));
      const queuedBeforeMs = readQueuedMs(child.pid);
      const stopMeasuring = measureQueuedMs(child.pid);
      const signaledAt = performance.now();
      child.kill("SIGTERM");
      expect(await closed).toEqual(ending);
      const tookMs = performance.now() - signaledAt;
      // Two seconds on an idle machine. A busy one also delays Postgres, whose processes aren't measured.
      expect(tookMs).toBeLessThan(20_000 + stopMeasuring() - queuedBeforeMs);
      expect(await findPostmaster(cluster)).toBeUndefined();
      expect(read()).not.toContain("cannot start");
    } finally {
      await prepared.close();
    }
  },
);
