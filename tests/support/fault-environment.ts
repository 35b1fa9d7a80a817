import { join } from "node:path";
import { createDatabase, startTestCluster, type TestCluster } from "@latchkey/db/testing/test-cluster";
import { inject } from "vitest";
import { type Account, type CreatedKey, createKey, signUp } from "./account.ts";
import type { Connection } from "./inspection.ts";
import { callOpen, statusOf } from "./open-call.ts";
import { eventually } from "./postmaster.ts";
import { authSecret, type ProductNode } from "./product.ts";
import { startTcpProxy, type TcpProxy } from "./tcp-proxy.ts";
import { createTestInstance } from "./test-instance.ts";
import { untilAnswered } from "./until-answered.ts";

/** A node that connects to its Postgres through a proxy that a test can break. */
export interface FaultEnvironment {
  readonly cluster: TestCluster;
  readonly proxy: TcpProxy;
  readonly node: ProductNode;
  readonly account: Account;
  /** The same database, without the proxy. */
  readonly database: Connection;
  /** A key of the account, or of another one, that was used exactly once on the node. */
  readonly knownKey: (name: string, owner?: Account) => Promise<CreatedKey>;
  /**
   * Waits until the node admits requests. Returns how long that took, in milliseconds.
   */
  readonly recovered: () => Promise<number>;
  readonly close: () => Promise<void>;
}

/** If a part fails, releases the parts that were already created. */
export async function createFaultEnvironment(): Promise<FaultEnvironment> {
  await using stack = new AsyncDisposableStack();
  const cluster = await startTestCluster({ data: inject("preparedData") });
  stack.defer(() => cluster.stop());
  await createDatabase(cluster.connection, "product", cluster.connection.database);
  const proxy = await startTcpProxy(join(cluster.connection.host, ".s.PGSQL.5432"));
  stack.defer(() => proxy.close());
  const { user, password } = cluster.connection;
  const instance = await createTestInstance({
    DATABASE_URL: `postgres://${user}:${password}@127.0.0.1:${proxy.port}/product`,
    AUTH_SECRET: authSecret,
  });
  stack.defer(() => instance.close());
  const node = await instance.start();
  stack.defer(() => {
    // A stopping node needs its database.
    proxy.accept();
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
    async knownKey(name, owner = account) {
      // A use that got 503 on a busy machine may have been counted, so the next attempt has a key of its own.
      const { created, status } = await untilAnswered(async () => {
        const attempt = await createKey(node.baseUrl, owner, name);
        return { created: attempt, status: (await callOpen(node.baseUrl, attempt.key)).status };
      });
      if (status !== 200) throw new Error(`The request with the new key returned ${status}.`);
      return created;
    },
    recovered: () =>
      eventually("the node is ready again", async () => (await statusOf(node.baseUrl, "/readyz")) === 200),
    close: () => parts.disposeAsync(),
  };
}
