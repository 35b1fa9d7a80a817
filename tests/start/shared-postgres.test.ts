import { randomUUID } from "node:crypto";
import { access } from "node:fs/promises";
import { join } from "node:path";
import type { DatabaseConnection } from "@latchkey/db/connection";
import { migrate } from "@latchkey/db/migrate";
import { createDatabase, startTestCluster, type TestCluster } from "@latchkey/db/testing/test-cluster";
import { openTestPool } from "@latchkey/db/testing/test-connection";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKey, signUp } from "../support/account.ts";
import { callOpen, statusOf } from "../support/open-call.ts";
import { connectionTo, eventually, findPostmaster, getPostmaster, isAlive } from "../support/postmaster.ts";
import { authSecret } from "../support/product.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { createTestInstance, type TestInstance } from "../support/test-instance.ts";
import { untilAnswered } from "../support/until-answered.ts";

let instance: TestInstance;
let cluster: TestCluster;
let proxy: TcpProxy;

beforeAll(async () => {
  [instance, cluster] = await Promise.all([createTestInstance(), startTestCluster()]);
  proxy = await startTcpProxy(join(cluster.connection.host, ".s.PGSQL.5432"));
});

afterAll(async () => {
  await instance?.close();
  await proxy?.close();
  await cluster?.stop();
});

const migrationsOf = async (connection: DatabaseConnection): Promise<string[]> => {
  const db = openTestPool(connection, { applicationName: "test", role: "login" });
  try {
    const rows = await db
      .withTables<{ migrations: { name: string } }>()
      .selectFrom("migrations")
      .select("name")
      .execute();
    return rows.map((row) => row.name);
  } finally {
    await db.destroy();
  }
};

test("with DATABASE_URL, it uses that Postgres, writes no data directory and stops only itself", async () => {
  await createDatabase(cluster.connection, "elsewhere");
  const { user, password } = cluster.connection;
  const node = await instance.start({
    DATABASE_URL: `postgres://${user}:${password}@127.0.0.1:${proxy.port}/elsewhere`,
    AUTH_SECRET: authSecret,
  });
  const account = await signUp(node.baseUrl);
  const { key } = await createKey(node.baseUrl, account, "first");
  expect((await untilAnswered(() => callOpen(node.baseUrl, key))).status).toBe(200);
  expect(await migrationsOf({ ...cluster.connection, database: "elsewhere" })).toContain("0001-ground-floor");
  expect(await node.stop()).toBe(0);
  await expect(access(instance.dataDirectory)).rejects.toThrow("ENOENT");
  expect(node.output()).not.toContain(password);
  expect((await migrationsOf({ ...cluster.connection, database: "elsewhere" })).length).toBeGreaterThan(0);
});

test("a node purges expired rows as soon as it has started", async () => {
  await createDatabase(cluster.connection, "purged");
  const connection = { ...cluster.connection, database: "purged" };
  await migrate(connection);
  const db = openTestPool(connection, { applicationName: "test", role: "login" });
  try {
    const verification = { id: randomUUID(), identifier: "ada@example.com", value: "" };
    await db
      .insertInto("verifications")
      .values({ ...verification, expires_at: new Date(0) })
      .execute();
    const { user, password } = connection;
    const node = await instance.start({
      DATABASE_URL: `postgres://${user}:${password}@127.0.0.1:${proxy.port}/purged`,
      AUTH_SECRET: authSecret,
    });
    const isPurged = async () => (await db.selectFrom("verifications").select("id").execute()).length === 0;
    await eventually("the verification is purged", isPurged);
    expect(await node.stop()).toBe(0);
  } finally {
    await db.destroy();
  }
});

test("two nodes that start at the same time on a new data directory share one Postgres, which the last one stops", async () => {
  const start = () => instance.start({}, { deadlines: "patient" });
  const [first, second] = await Promise.all([start(), start()]);
  const postmaster = await getPostmaster(instance.cluster);
  const migrations = await migrationsOf(await connectionTo(instance.cluster));
  expect(new Set(migrations).size).toBe(migrations.length);
  for (const node of [first, second]) {
    // On a busy machine, a connection for jobs can take too long. It is then opened again.
    const lines = node
      .output()
      .split("\n")
      .filter((line) => !/connection timeout|timeout expired|timeout exceeded/.test(line));
    expect(lines.join("\n")).not.toMatch(/error|warn|fail/i);
    expect(await statusOf(node.baseUrl, "/readyz")).toBe(200);
  }
  // Each accepts the sessions of the other, because both use one secret.
  const account = await signUp(first.baseUrl);
  const { key } = await createKey(second.baseUrl, account, "first");

  expect(await first.stop()).toBe(0);
  expect(await getPostmaster(instance.cluster)).toBe(postmaster);
  expect((await untilAnswered(() => callOpen(second.baseUrl, key))).status).toBe(200);
  expect(await second.stop()).toBe(0);
  expect(await findPostmaster(instance.cluster)).toBeUndefined();
  expect(await isAlive(postmaster)).toBe(false);
});
