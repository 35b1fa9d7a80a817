import { join } from "node:path";
import { startTestCluster, startTestStandby, type TestCluster } from "@latchkey/db/testing/test-cluster";
import { expect, onTestFinished, test } from "vitest";
import { type Account, callProcedure, createKey, signUp } from "../support/account.ts";
import { startClients } from "../support/clients.ts";
import { busyMs, measureStall } from "../support/machine-stall.ts";
import { callOpen } from "../support/open-call.ts";
import { eventually } from "../support/postmaster.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import { authSecret, type ProductNode } from "../support/product.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { createTestInstance } from "../support/test-instance.ts";

// A failover during which the server's name leads to a standby for a while.

interface Environment {
  readonly primary: TestCluster;
  readonly standby: TestCluster;
  readonly proxy: TcpProxy;
  readonly node: ProductNode;
  readonly account: Account;
  readonly key: string;
}

/** Starts a node whose proxy leads to a primary, and a standby with the same account and API key. */
async function createEnvironment(): Promise<Environment> {
  const first = await createPreparedInstance({ AUTH_SECRET: authSecret });
  onTestFinished(first.close);
  const writer = await first.startInProcess();
  const account = await signUp(writer.baseUrl);
  const { key } = await createKey(writer.baseUrl, account, "failover");
  await writer.stop();
  const primary = await startTestCluster({ data: first.dataDirectory });
  onTestFinished(primary.stop);
  const standby = await startTestStandby(first.dataDirectory);
  onTestFinished(standby.stop);
  const proxy = await startTcpProxy(socketOf(primary));
  onTestFinished(proxy.close);
  const { user, password, database } = primary.connection;
  const instance = await createTestInstance({
    DATABASE_URL: `postgres://${user}:${password}@127.0.0.1:${proxy.port}/${database}`,
    AUTH_SECRET: authSecret,
  });
  onTestFinished(instance.close);
  return { primary, standby, proxy, node: await instance.start(), account, key };
}

function socketOf({ connection: { host, port } }: TestCluster): string {
  return join(host, `.s.PGSQL.${port}`);
}

interface Traffic {
  readonly name: string;
  /** The statuses of the responses so far. */
  readonly statuses: readonly number[];
  readonly stop: () => Promise<void>;
}

/** Sends requests of one kind without pauses, so that no connection that serves them is idle for long. */
function startTraffic(name: string, send: () => Promise<number>): Traffic {
  const statuses: number[] = [];
  const { stop } = startClients(2, async ({ isStopped }) => {
    while (!isStopped()) statuses.push(await send());
  });
  return { name, statuses, stop };
}

function startAllTraffic({ node: { baseUrl }, account: { cookie }, key }: Environment): readonly Traffic[] {
  const call = (path: string, kind: "query" | "mutation", input?: object) => async () =>
    (await callProcedure(baseUrl, { path, kind, input, cookie })).status;
  return [
    startTraffic("reads of the web app", call("notices.unreadCount", "query")),
    startTraffic("reads of operators", call("operator.workspaces", "query", {})),
    startTraffic("changes of the web app", call("notices.markAllRead", "mutation", {})),
    startTraffic("requests", async () => (await callOpen(baseUrl, key, "/open/workspaces")).status),
  ];
}

/** Waits until requests of each kind have returned this status this many times from now on. */
async function untilReturned(traffic: readonly Traffic[], status: number, times: number): Promise<number> {
  const starts = traffic.map(({ statuses }) => statuses.length);
  const listMissing = () =>
    traffic.filter(({ statuses }, index) => {
      const returned = statuses.slice(starts[index]).filter((found) => found === status);
      return returned.length < times;
    });
  try {
    return await eventually(`${times} responses have ${status}`, async () => listMissing().length === 0);
  } catch (error) {
    const missing = listMissing().map(({ name, statuses }) => `${name} (last ${statuses.at(-1)})`);
    throw new Error(`Missing responses with ${status}: ${missing.join(", ")}`, { cause: error });
  }
}

test("a busy node recovers within seconds after its server's name leads from a standby to the new primary", async () => {
  const environment = await createEnvironment();
  const { node, proxy, primary, standby } = environment;
  const stopMeasuring = await measureStall(node.baseUrl);
  const traffic = startAllTraffic(environment);
  try {
    await untilReturned(traffic, 200, 10);
    proxy.leadTo(socketOf(standby));
    proxy.cut();
    proxy.accept();
    // More than the connections of a pool, each of which fails at most one request when it is cut.
    await untilReturned(traffic, 503, 30);
    proxy.leadTo(socketOf(primary));
    const backMs = await untilReturned(traffic, 200, 1);
    console.info(`a failover: back within ${Math.round(backMs)} ms`);
    // On a busy machine, attempts to connect can time out.
    if ((await stopMeasuring()) < busyMs) expect(backMs).toBeLessThan(5_000);
    await untilReturned(traffic, 200, 50);
  } finally {
    await Promise.all(traffic.map(({ stop }) => stop()));
  }
  const statuses = new Set(traffic.flatMap((one) => one.statuses));
  expect([...statuses].toSorted()).toEqual([200, 503]);
});
