import { afterAll, beforeAll, expect, test } from "vitest";
import { callProcedure } from "../support/account.ts";
import { type FaultStage, setFaultStage } from "../support/fault-stage.ts";
import { countNodeConnections, readUses } from "../support/inspection.ts";
import {
  closeLedger,
  countAnswered,
  countStatuses,
  expectAllRefused,
  expectPunctual,
  promisedMs,
  slowestMs,
} from "../support/ledger.ts";
import { startLoad } from "../support/load.ts";
import { callOpen, statusOf } from "../support/open-call.ts";
import { eventually } from "../support/postmaster.ts";

// A node whose way to its Postgres falls silent or is cut, while callers go on.

let stage: FaultStage;
beforeAll(async () => {
  stage = await setFaultStage();
});
afterAll(async () => {
  await stage?.close();
});

async function readHealth(): Promise<{ readonly health: number; readonly readiness: number }> {
  return {
    health: await statusOf(stage.node.baseUrl, "/healthz"),
    readiness: await statusOf(stage.node.baseUrl, "/readyz"),
  };
}

test.each([
  ["falls silent", () => stage.proxy.hold(), () => stage.proxy.release()],
  ["is cut", () => stage.proxy.cut(), () => stage.proxy.mend()],
])(
  "when the way to Postgres %s, callers get 503 within 2 s, and all goes on by itself afterwards",
  async (what, breakWay, mendWay) => {
    const { node, account, database, recovered } = stage;
    const { id, key } = await stage.knownKey(what);
    const linesBefore = node.output().split("\n").length;
    expect(await readHealth()).toEqual({ health: 200, readiness: 200 });
    const load = startLoad({ baseUrls: [node.baseUrl], key, connections: 50 });
    await load.reached(500);
    breakWay();
    const brokenAt = performance.now();
    // Long enough for every client to be answered, and to ask again.
    await load.reached(load.outcomes.length + 100);
    const away = await callOpen(node.baseUrl, key);
    const healthAway = await readHealth();
    const mended = load.outcomes.length;
    const call = { path: "session.current", kind: "query", cookie: account.cookie } as const;
    const visit = callProcedure(node.baseUrl, call);

    mendWay();
    const backMs = await recovered();
    const next = await callOpen(node.baseUrl, key);
    await load.reached(load.outcomes.length + 500);
    const outcomes = [...(await load.stop())];
    closeLedger(
      `the way to Postgres ${what}`,
      {
        answered: countAnswered(outcomes) + 1 + (next.status === 200 ? 1 : 0),
        counted: await readUses(database, id),
        received: load.sent() + 3,
      },
      `slowest answer ${Math.round(slowestMs(outcomes))} ms, ready ${Math.round(backMs)} ms after it was mended`,
    );
    expect(away).toMatchObject({ status: 503, code: "SERVICE_UNAVAILABLE", retryAfter: "1" });
    expect(away.tookMs).toBeLessThan(promisedMs);
    expect(healthAway).toEqual({ health: 200, readiness: 503 });
    // Nothing is left of what waited: the next caller is served as ever.
    expect(next.status).toBe(200);
    expect(next.tookMs).toBeLessThan(500);
    expectPunctual(outcomes);
    expectAllRefused(outcomes.slice(0, mended).filter(({ sentAt }) => sentAt > brokenAt));
    expect(await readHealth()).toEqual({ health: 200, readiness: 200 });
    // The web app's statements have more patience, and may still be carried out.
    expect([200, 503]).toContain((await visit).status);
    await expectFewConnections();
    const rejected = [...outcomes, away, await visit].filter(({ status }) => status === 503).length;
    await expectOneOutageInLog(linesBefore, rejected);
  },
);

/** The log since that line has few lines, and the one about the end of the outage counts all rejected requests. */
async function expectOneOutageInLog(fromLine: number, rejected: number): Promise<void> {
  const readLines = () =>
    stage.node
      .output()
      .split("\n")
      .slice(fromLine)
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  const ended = "the database is available again";
  await eventually("the outage has ended", async () => readLines().some(({ msg }) => msg === ended), 10_000);
  const lines = readLines();
  expect(lines.length).toBeLessThan(20);
  expect(lines.filter(({ msg }) => msg === "the database is unavailable")).toHaveLength(1);
  expect(lines.filter(({ msg }) => msg === ended)).toMatchObject([{ rejectedRequests: rejected }]);
}

/** What was given up is gone from Postgres too, and nothing was made twice. */
async function expectFewConnections(): Promise<void> {
  await eventually(
    "Postgres has one connection for admission and no more than the pools may have",
    async () => {
      const { "latchkey admission": admission, ...pools } = await countNodeConnections(stage.database);
      return admission === 1 && Object.values(pools).every((count) => count <= 10);
    },
    5_000,
  );
}

test("a connection to Postgres that is dead for good is given up, and a new one takes its place", async () => {
  const { id, key } = await stage.knownKey("stranded");
  const load = startLoad({ baseUrls: [stage.node.baseUrl], key, connections: 20 });
  await load.reached(200);
  stage.proxy.strand();
  const strandedAt = performance.now();
  await load.reached(load.outcomes.length + 200);
  const outcomes = await load.stop();
  const lost = outcomes.filter(({ status }) => status === 503);
  closeLedger(
    "a dead connection to Postgres",
    {
      answered: countAnswered(outcomes) + 1,
      counted: await readUses(stage.database, id),
      received: load.sent() + 1,
    },
    `given up after ${Math.round((lost.at(-1)?.endedAt ?? 0) - strandedAt)} ms`,
  );
  expectPunctual(outcomes);
  // Each client waits for the dead connection once.
  expect(lost.length).toBeGreaterThan(0);
  expect(lost.length).toBeLessThanOrEqual(20);
  expect(countStatuses(outcomes.slice(-20))).toEqual({ 200: 20 });
});
