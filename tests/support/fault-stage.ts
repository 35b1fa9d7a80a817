import { join } from "node:path";
import { createDatabase, startTestCluster, type TestCluster } from "@latchkey/db/testing/test-cluster";
import { inject } from "vitest";
import { type Account, type CreatedKey, createKey, signUp } from "./account.ts";
import type { Connection } from "./inspection.ts";
import { callOpen, statusOf } from "./open-call.ts";
import { createPlace } from "./place.ts";
import { eventually } from "./postmaster.ts";
import { authSecret, type ProductNode } from "./product.ts";
import { startTcpProxy, type TcpProxy } from "./tcp-proxy.ts";

/** A node that reaches its Postgres over a way that a test can break. */
export interface FaultStage {
  readonly cluster: TestCluster;
  readonly proxy: TcpProxy;
  readonly node: ProductNode;
  readonly account: Account;
  /** The same database, past the proxy. */
  readonly database: Connection;
  /** A key that the node has met once, which is its first use. */
  readonly knownKey: (name: string) => Promise<CreatedKey>;
  /** Settles when the node is ready to admit requests; after how many milliseconds. @throws an Error after 10 s. */
  readonly recovered: () => Promise<number>;
  readonly close: () => Promise<void>;
}

/** Gives up what it has already made when a part of it fails. */
export async function setFaultStage(): Promise<FaultStage> {
  await using stack = new AsyncDisposableStack();
  const cluster = await startTestCluster({ data: inject("preparedData") });
  stack.defer(() => cluster.stop());
  await createDatabase(cluster.connection, "product", cluster.connection.database);
  const proxy = await startTcpProxy(join(cluster.connection.host, ".s.PGSQL.5432"));
  stack.defer(() => proxy.close());
  const { user, password } = cluster.connection;
  const place = await createPlace({
    DATABASE_URL: `postgres://${user}:${password}@127.0.0.1:${proxy.port}/product`,
    AUTH_SECRET: authSecret,
  });
  stack.defer(() => place.close());
  const node = await place.start();
  stack.defer(() => {
    // A node that stops says good-bye to its database.
    proxy.mend();
    proxy.slow(0);
    proxy.release();
  });
  const account = await signUp(node.baseUrl);
  const parts = stack.move();
  return {
    cluster,
    proxy,
    node,
    account,
    database: { ...cluster.connection, database: "product" },
    async knownKey(name) {
      const created = await createKey(node.baseUrl, account, name);
      const { status } = await callOpen(node.baseUrl, created.key);
      if (status !== 200) throw new Error(`The new key was answered ${status}.`);
      return created;
    },
    recovered: () =>
      eventually(
        "the node is ready again",
        async () => (await statusOf(node.baseUrl, "/readyz")) === 200,
        10_000,
      ),
    close: () => parts.disposeAsync(),
  };
}
