import { setTimeout as delay } from "node:timers/promises";
import { findFreePort } from "@latchkey/db/testing/free-port";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Account, createKey, signUp } from "../support/account.ts";
import { readUses } from "../support/inspection.ts";
import { startCreatingKeys } from "../support/key-creation.ts";
import { createKeyspace, issueKey, readCounter } from "../support/keyspace.ts";
import { type Outcome, startLoad } from "../support/load.ts";
import { busyMs, measureStall } from "../support/machine-stall.ts";
import { callOpen } from "../support/open-call.ts";
import { connectionTo } from "../support/postmaster.ts";
import type { ProductNode } from "../support/product.ts";
import { countAnswered, countStatuses, verifyCounts } from "../support/request-counts.ts";
import { createTestInstance, type TestInstance } from "../support/test-instance.ts";
import { untilAnswered } from "../support/until-answered.ts";
import { type ProxyProgram, startReverseProxy } from "./reverse-proxy.ts";

// Two nodes behind a proxy are restarted in turn under load. The configurations come from the documentation, which
// gives the reason for each setting.

const rounds = 3;
const connections = 64;
const verifyingConnections = 16;
/** The credits of the verified key. */
const balance = 10_000_000;
/** The time from when a restarted node is ready until the next one is stopped. */
const documentedPauseMs = 1_000;

let instance: TestInstance;
let ports: readonly [number, number];
let nodes: [ProductNode, ProductNode];
let account: Account;

beforeAll(async () => {
  // One user creates keys during all restarts: on a fast machine, more than the default quotas.
  instance = await createTestInstance({ MAX_KEYS_PER_USER: "100000", MAX_KEY_CHANGES_PER_HOUR: "1000000" });
  ports = [await findFreePort(), await findFreePort()];
  nodes = await Promise.all([start(ports[0]), start(ports[1])]);
  account = await signUp(nodes[0].baseUrl);
});

afterAll(async () => {
  await instance?.close();
});

const start = (port: number): Promise<ProductNode> => instance.start({ PORT: String(port) });

/** Restarts each node in turn, as documented. Returns how long each took to be ready again, in milliseconds. */
async function restartAll(): Promise<readonly number[]> {
  const readyMs: number[] = [];
  for (const side of [0, 1] as const) {
    expect(await nodes[side].stop("SIGTERM")).toBe(0);
    nodes[side] = await start(ports[side]);
    readyMs.push(nodes[side].readyWithinMs);
    // A proxy with health checks must have checked this node.
    await delay(documentedPauseMs);
  }
  return readyMs;
}

test.each<{ readonly program: ProxyProgram; readonly makers: number; readonly canLosePosts: boolean }>([
  // During the load, clients verify a key and create one key after the other, which no proxy may repeat. HAProxy sends no
  // new requests to a stopping node. nginx does, so a POST can hit a connection that closes and get 502; the documentation
  // says what to do.
  { program: "nginx", makers: 0, canLosePosts: true },
  { program: "haproxy", makers: 4, canLosePosts: false },
])(
  "behind $program, each node is restarted in turn without a failed request, and each request and verification is counted once",
  async ({ program, makers, canLosePosts }) => {
    await using stack = new AsyncDisposableStack();
    const proxy = await startReverseProxy(program, ports);
    stack.defer(() => proxy.stop());
    const { id, key } = await createKey(proxy.baseUrl, account, program);
    const stopMeasuring = await measureStall(proxy.baseUrl);
    const load = startLoad({ baseUrls: [proxy.baseUrl], key, connections, reconnects: true });
    stack.defer(() => load.stop().then(() => undefined));
    const keyspace = await createKeyspace(proxy.baseUrl, account);
    const issued = await issueKey(keyspace, { credits: { remaining: balance } });
    const verifying = startLoad({
      baseUrls: [proxy.baseUrl],
      key: keyspace.callerKey,
      connections: verifyingConnections,
      reconnects: true,
      path: "/open/keys/verify",
      body: { key: issued.key },
    });
    stack.defer(() => verifying.stop().then(() => undefined));
    const making = Array.from({ length: makers }, () => startCreatingKeys(proxy.baseUrl, account));
    stack.defer(() => Promise.all(making.map((maker) => maker.stop())).then(() => undefined));
    await load.reached(1_000);
    const readyMs: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      readyMs.push(...(await restartAll()));
    }
    const [outcomes, verifications] = await Promise.all([load.stop(), verifying.stop()]);
    const made = await Promise.all(making.map((maker) => maker.stop()));
    const stallMs = await stopMeasuring();
    const counted = await readUses(await connectionTo(instance.cluster), id);
    const keys = made.flatMap((one) => one.keys);
    verifyCounts(
      `${readyMs.length} restarts behind ${program}`,
      { answered: countAnswered(outcomes), counted, received: load.sent() },
      `${keys.length} keys made, a node ready again after ${Math.round(Math.max(...readyMs))} ms at most`,
    );
    const { uses, credits } = await readCounter(await connectionTo(instance.cluster), issued);
    verifyCounts(`verifications, ${readyMs.length} restarts behind ${program}`, {
      answered: countAnswered(verifications),
      counted: uses,
      received: verifying.sent(),
    });
    // On a busy machine, some requests get 503 at their deadline. They may have been counted.
    const isLate = ({ status }: Pick<Outcome, "status">) => stallMs >= busyMs && status === 503;
    const isLost = (outcome: Outcome) => isLate(outcome) || (canLosePosts && outcome.status === 502);
    const valid = verifications.filter(({ code }) => code === "VALID").length;
    const lost = verifications.filter(isLost).length;
    const inTime = outcomes.filter((outcome) => !isLate(outcome));
    const failures = made
      .flatMap((one) => one.failures)
      .map((status) => ({ status, errorCode: undefined }))
      .filter((failure) => !isLate(failure));
    const faults = {
      ...countStatuses(inTime),
      verifying: countStatuses(
        verifications.filter((outcome) => outcome.code !== "VALID" && !isLost(outcome)),
      ),
      making: countStatuses(failures),
    };
    expect(faults, await proxy.complaints()).toEqual({
      200: inTime.length,
      verifying: {},
      making: {},
    });
    expect(counted).toBeGreaterThanOrEqual(inTime.length);
    expect(counted).toBeLessThanOrEqual(outcomes.length);
    expect(uses).toBeGreaterThanOrEqual(valid);
    expect(uses).toBeLessThanOrEqual(valid + lost);
    expect(credits).toBe(balance - uses);
    expect(keys.length).toBeGreaterThanOrEqual(rounds * makers);
    for (const one of keys.slice(-10))
      expect((await untilAnswered(() => callOpen(proxy.baseUrl, one.key))).status).toBe(200);
  },
);
