import { afterAll, beforeAll, expect, test } from "vitest";
import { callProcedure } from "../support/account.ts";
import { createFaultEnvironment, type FaultEnvironment } from "../support/fault-environment.ts";
import { countNodeConnections, readUses } from "../support/inspection.ts";
import { startLoad } from "../support/load.ts";
import { busyMs, measureStall } from "../support/machine-stall.ts";
import { callOpen, statusOf } from "../support/open-call.ts";
import { eventually } from "../support/postmaster.ts";
import {
  countAnswered,
  countStatuses,
  deadlineMs,
  expectAllUnavailable,
  expectWithinDeadline,
  slowestMs,
  verifyCounts,
} from "../support/request-counts.ts";

// A node whose connection to Postgres stops responding or is closed under load.

let environment: FaultEnvironment;
beforeAll(async () => {
  environment = await createFaultEnvironment();
});
afterAll(async () => {
  await environment?.close();
});

async function readHealth(): Promise<{ readonly health: number; readonly readiness: number }> {
  return {
    health: await statusOf(environment.node.baseUrl, "/healthz"),
    readiness: await statusOf(environment.node.baseUrl, "/readyz"),
  };
}

test.each([
  ["doesn't respond", () => environment.proxy.hold(), () => environment.proxy.release()],
  ["is closed", () => environment.proxy.cut(), () => environment.proxy.accept()],
])(
  "returns 503 within 2 s while the connection to Postgres %s, and recovers automatically",
  async (what, breakConnection, repair) => {
    const { node, account, database, recovered } = environment;
    const { id, key } = await environment.knownKey(what);
    const linesBefore = node.output().split("\n").length;
    expect(await readHealth()).toEqual({ health: 200, readiness: 200 });
    const stopMeasuring = await measureStall(node.baseUrl);
    const load = startLoad({ baseUrls: [node.baseUrl], key, connections: 50 });
    await load.reached(500);
    breakConnection();
    const brokenAt = performance.now();
    // Two responses per client, so that every client has also sent a request during the fault.
    await load.reached(load.outcomes.length + 100);
    const away = await callOpen(node.baseUrl, key);
    const healthAway = await readHealth();
    const countBeforeRepair = load.outcomes.length;
    const call = { path: "session.current", kind: "query", cookie: account.cookie } as const;
    const visit = callProcedure(node.baseUrl, call);

    repair();
    const backMs = await recovered();
    const next = await callOpen(node.baseUrl, key);
    await load.reached(load.outcomes.length + 500);
    const outcomes = [...(await load.stop())];
    const stallMs = await stopMeasuring();
    verifyCounts(
      `the connection to Postgres ${what}`,
      {
        answered: countAnswered(outcomes) + 1 + (next.status === 200 ? 1 : 0),
        counted: await readUses(database, id),
        received: load.sent() + 3,
      },
      `slowest answer ${Math.round(slowestMs(outcomes))} ms, ready ${Math.round(backMs)} ms after the repair`,
    );
    expect(away).toMatchObject({ status: 503, code: "SERVICE_UNAVAILABLE", retryAfter: "1" });
    expect(away.tookMs).toBeLessThan(deadlineMs + stallMs);
    expect(healthAway).toEqual({ health: 200, readiness: 503 });
    // No backlog remains: the next request is served normally, unless a busy machine delays it until its deadline.
    if (stallMs < busyMs || next.status !== 503) {
      expect(next.status).toBe(200);
      expect(next.tookMs).toBeLessThan(500 + stallMs);
    }
    expectWithinDeadline(outcomes, stallMs);
    expectAllUnavailable(outcomes.slice(0, countBeforeRepair).filter(({ sentAt }) => sentAt > brokenAt));
    expect(await readHealth()).toEqual({ health: 200, readiness: 200 });
    // The web app's statements have a longer timeout, so this one may still succeed.
    expect([200, 503]).toContain((await visit).status);
    await expectFewConnections();
    const rejected = [...outcomes, away, await visit].filter(({ status }) => status === 503).length;
    await expectOutageInLog(linesBefore, { rejected, stallMs });
  },
);

/**
 * Expects that the log has few lines since this line, and that the line about the end of the outage counts all rejected requests. On
 * a busy machine, requests also reach their deadline before or after the outage.
 */
async function expectOutageInLog(
  fromLine: number,
  { rejected, stallMs }: { readonly rejected: number; readonly stallMs: number },
): Promise<void> {
  const readLines = () =>
    environment.node
      .output()
      .split("\n")
      .slice(fromLine)
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  const ended = "the database is available again";
  await eventually("the outage has ended", async () => readLines().some(({ msg }) => msg === ended));
  const lines = readLines();
  expect(lines.length).toBeLessThan(20);
  const began = lines.filter(({ msg }) => msg === "the database is unavailable");
  const counts = lines
    .filter(({ msg }) => msg === ended)
    .map(({ rejectedRequests }) => Number(rejectedRequests));
  if (stallMs < busyMs) {
    expect(began).toHaveLength(1);
    expect(counts).toEqual([rejected]);
  } else {
    expect(began.length).toBeGreaterThan(0);
    expect(Math.max(...counts)).toBeGreaterThan(0);
  }
}

/** Expects that Postgres has closed the abandoned connections, and that none was opened twice. */
async function expectFewConnections(): Promise<void> {
  await eventually(
    "Postgres has one connection for admission, and no more than the maximum for the pools",
    async () => {
      const { "latchkey admission": admission, ...pools } = await countNodeConnections(environment.database);
      return admission === 1 && Object.values(pools).every((count) => count <= 10);
    },
  );
}

test("replaces a connection to Postgres that stays dead", async () => {
  const { id, key } = await environment.knownKey("blackholed");
  const stopMeasuring = await measureStall(environment.node.baseUrl);
  const load = startLoad({ baseUrls: [environment.node.baseUrl], key, connections: 20 });
  await load.reached(200);
  environment.proxy.blackhole();
  const blackholedAt = performance.now();
  await load.reached(load.outcomes.length + 200);
  const outcomes = await load.stop();
  const lost = outcomes.filter(({ status }) => status === 503);
  verifyCounts(
    "a dead connection to Postgres",
    {
      answered: countAnswered(outcomes) + 1,
      counted: await readUses(environment.database, id),
      received: load.sent() + 1,
    },
    `abandoned after  ${Math.round((lost.at(-1)?.endedAt ?? 0) - blackholedAt)} ms`,
  );
  const stallMs = await stopMeasuring();
  expectWithinDeadline(outcomes, stallMs);
  expect(lost.length).toBeGreaterThan(0);
  if (stallMs >= busyMs) return;
  // Each client waits for the dead connection at most once.
  expect(lost.length).toBeLessThanOrEqual(20);
  expect(countStatuses(outcomes.slice(-20))).toEqual({ 200: 20 });
});
