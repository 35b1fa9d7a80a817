import { setTimeout as delay } from "node:timers/promises";
import { findFreePort } from "@latchkey/db/testing/free-port";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Account, createKey, signUp } from "../support/account.ts";
import { readUses } from "../support/inspection.ts";
import { startMakingKeys } from "../support/key-maker.ts";
import { closeLedger, countAnswered, countStatuses } from "../support/ledger.ts";
import { startLoad } from "../support/load.ts";
import { callOpen } from "../support/open-call.ts";
import { createPlace, type Place } from "../support/place.ts";
import { connectionTo } from "../support/postmaster.ts";
import type { ProductNode } from "../support/product.ts";
import { type ProxyProgram, startReverseProxy } from "./reverse-proxy.ts";

// Two nodes behind a proxy, restarted in turn while callers go on. The configurations are the documented ones, which say
// why each of their settings is there.

const rounds = 3;
const connections = 64;
/** From when a restarted node is ready until the next one is told to stop. */
const documentedPauseMs = 1_000;

let place: Place;
let ports: readonly [number, number];
let nodes: [ProductNode, ProductNode];
let account: Account;

beforeAll(async () => {
  // One user creates keys for as long as the nodes restart: on a fast machine more than the default quota.
  place = await createPlace({ MAX_KEYS_PER_USER: "100000" });
  ports = [await findFreePort(), await findFreePort()];
  nodes = await Promise.all([start(ports[0]), start(ports[1])]);
  account = await signUp(nodes[0].baseUrl);
});

afterAll(async () => {
  await place?.close();
});

const start = (port: number): Promise<ProductNode> => place.start({ PORT: String(port) });

/** Restarts each node in turn, as documented; how long each took to be ready again, in milliseconds. */
async function restartAll(): Promise<readonly number[]> {
  const readyMs: number[] = [];
  for (const side of [0, 1] as const) {
    expect(await nodes[side].stop("SIGTERM")).toBe(0);
    nodes[side] = await start(ports[side]);
    readyMs.push(nodes[side].readyWithinMs);
    // A proxy that asks nodes how they are must have asked this one.
    await delay(documentedPauseMs);
  }
  return readyMs;
}

test.each<{ readonly program: ProxyProgram; readonly makers: number }>([
  { program: "nginx", makers: 0 },
  // Beside the load, these make one key after the other, which no proxy may repeat. HAProxy sends a stopping node nothing
  // more; nginx does, so that a change may meet a connection as it closes: the documentation says what to do.
  { program: "haproxy", makers: 4 },
])(
  "behind $program no request fails while each node in turn is restarted, and each is counted once",
  async ({ program, makers }) => {
    await using stack = new AsyncDisposableStack();
    const proxy = await startReverseProxy(program, ports);
    stack.defer(() => proxy.stop());
    const { id, key } = await createKey(proxy.baseUrl, account, program);
    const load = startLoad({ baseUrls: [proxy.baseUrl], key, connections, reconnects: true });
    stack.defer(() => load.stop().then(() => undefined));
    const making = Array.from({ length: makers }, () => startMakingKeys(proxy.baseUrl, account));
    stack.defer(() => Promise.all(making.map((maker) => maker.stop())).then(() => undefined));
    await load.reached(1_000);
    const readyMs: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      readyMs.push(...(await restartAll()));
    }
    const outcomes = await load.stop();
    const made = await Promise.all(making.map((maker) => maker.stop()));
    const counted = await readUses(await connectionTo(place.cluster), id);
    const keys = made.flatMap((one) => one.keys);
    closeLedger(
      `${readyMs.length} restarts behind ${program}`,
      { answered: countAnswered(outcomes), counted, received: load.sent() },
      `${keys.length} keys made, a node ready again after ${Math.round(Math.max(...readyMs))} ms at most`,
    );
    const faults = {
      ...countStatuses(outcomes),
      making: countStatuses(
        made.flatMap((one) => one.failures).map((status) => ({ status, errorCode: undefined })),
      ),
    };
    expect(faults, await proxy.complaints()).toEqual({ 200: outcomes.length, making: {} });
    expect(counted).toBe(outcomes.length);
    expect(keys.length).toBeGreaterThanOrEqual(rounds * makers);
    for (const one of keys.slice(-10)) expect((await callOpen(proxy.baseUrl, one.key)).status).toBe(200);
  },
  120_000,
);
