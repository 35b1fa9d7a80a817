import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callProcedure, signUp } from "../support/account.ts";
import { createFaultEnvironment, type FaultEnvironment } from "../support/fault-environment.ts";
import { countNodeConnections, holdLocks, open, readUses } from "../support/inspection.ts";
import {
  createKeyspace,
  type IssuedKey,
  issuedKeyUuid,
  issueKey,
  type Keyspace,
  readCounter,
} from "../support/keyspace.ts";
import { type Load, type Outcome, startLoad } from "../support/load.ts";
import { busyMs, measureStall } from "../support/machine-stall.ts";
import { callOpen, statusOf } from "../support/open-call.ts";
import { eventually } from "../support/postmaster.ts";
import {
  countAnswered,
  countStatuses,
  deadlineMs,
  expectAllAdmitted,
  expectAllUnavailable,
  expectWithinDeadline,
  quantileMs,
  verifyCounts,
} from "../support/request-counts.ts";

// A node whose connections to Postgres are all blocked, or that can't get a connection.

let environment: FaultEnvironment;
let keyspace: Keyspace;
beforeAll(async () => {
  environment = await createFaultEnvironment();
  keyspace = await createKeyspace(environment.node.baseUrl, environment.account);
});
afterAll(async () => {
  await environment?.close();
});

/** The credits of verified keys. */
const balance = 1_000_000;

function startVerifying({ key }: IssuedKey): Load {
  const { baseUrl, callerKey } = keyspace;
  return startLoad({
    baseUrls: [baseUrl],
    key: callerKey,
    connections: 4,
    path: "/open/keys/verify",
    body: { key },
  });
}

/** Expects that each valid verification was committed, and that uses and credits are the same. */
async function expectCommitted(fault: string, key: IssuedKey, verifying: Load): Promise<void> {
  const { uses, credits } = await readCounter(environment.database, key);
  expect(uses).toBe(balance - credits);
  verifyCounts(`verifications, ${fault}`, {
    answered: verifying.outcomes.filter(({ code }) => code === "VALID").length,
    counted: uses,
    received: verifying.sent(),
  });
}

interface HealthWatch {
  /** Returns the median of the response times of the requests since a time, in milliseconds. */
  readonly medianMsSince: (time: number) => number;
  /** Stops, and expects that each response was 200. */
  readonly end: () => Promise<void>;
}

/** Requests `/healthz` repeatedly, and expects 200. */
function watchHealth(): HealthWatch {
  let isStopped = false;
  const checks: Pick<Outcome, "sentAt" | "endedAt">[] = [];
  const watched = (async () => {
    while (!isStopped) {
      const sentAt = performance.now();
      expect(await statusOf(environment.node.baseUrl, "/healthz")).toBe(200);
      checks.push({ sentAt, endedAt: performance.now() });
    }
  })();
  watched.catch(() => undefined);
  return {
    medianMsSince: (time) =>
      quantileMs(
        checks.filter(({ sentAt }) => sentAt >= time),
        0.5,
      ),
    async end() {
      isStopped = true;
      await watched;
    },
  };
}

test("while all connections of the pools are blocked, admission and verification continue, and the open API and the web app return 503", async () => {
  const { node, account, database } = environment;
  const { id, key } = await environment.knownKey("pools");
  // A user can read two lists at the same time, so three users use all five connections of the pool.
  const others = [
    await signUp(node.baseUrl, "bob@example.com"),
    await signUp(node.baseUrl, "cat@example.com"),
  ];
  const keys = [
    { id, key },
    // While the tables are locked, the node can't look up a key that it hasn't seen.
    ...(await Promise.all(others.map((other) => environment.knownKey("another's", other)))),
  ];
  const health = watchHealth();
  const stopMeasuring = await measureStall(node.baseUrl);
  const issued = await issueKey(keyspace, { credits: { remaining: balance } });
  const load = startLoad({ baseUrls: [node.baseUrl], key, connections: 8 });
  const verifying = startVerifying(issued);
  await Promise.all([load.reached(200), verifying.reached(100)]);
  // Locks tables that admission doesn't read, because it must not wait for other work.
  const { release } = await holdLocks(
    database,
    "lock table workspaces, members, sessions in access exclusive mode",
  );
  const heldAt = performance.now();
  const heldFrom = load.outcomes.length;
  const verifiedFrom = verifying.outcomes.length;
  const current = { path: "session.current", kind: "query", cookie: account.cookie } as const;
  // Each pool gets thirty requests for its five connections.
  const [calls, visits] = await Promise.all([
    Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        callOpen(
          node.baseUrl,
          keys[index % keys.length]?.key ?? key,
          index % 2 === 0 ? "/open/workspaces" : "/open/me",
        ),
      ),
    ),
    Promise.all(
      Array.from({ length: 30 }, async () => {
        const askedAt = performance.now();
        const { status } = await callProcedure(node.baseUrl, current);
        return { status, tookMs: performance.now() - askedAt };
      }),
    ),
  ]);
  const pools = await countNodeConnections(database);
  const during = load.outcomes.slice(heldFrom);
  const verifiedDuring = verifying.outcomes.slice(verifiedFrom);
  const medianHealthMs = health.medianMsSince(heldAt);
  await release();
  const polls: number[] = [];
  const isBack = async (): Promise<boolean> => {
    polls.push((await callOpen(node.baseUrl, key, "/open/workspaces")).status);
    return polls.at(-1) === 200 && (await callProcedure(node.baseUrl, current)).status === 200;
  };
  const backMs = await eventually("the pools work again", isBack);
  const outcomes = await load.stop();
  await verifying.stop();
  await health.end();
  const stallMs = await stopMeasuring();
  await expectCommitted("the pools exhausted", issued, verifying);
  expectWithinDeadline(verifying.outcomes, stallMs);
  const uses = await Promise.all(keys.map((used) => readUses(database, used.id)));
  const counted = uses.reduce((sum, count) => sum + count, 0);
  const received = load.sent() + keys.length + calls.length + polls.length;
  const answered = countAnswered(outcomes) + keys.length + polls.filter((status) => status === 200).length;
  verifyCounts(
    "the pools exhausted",
    { answered, counted, received },
    `503 to ${calls.length} within ${Math.round(Math.max(...calls.map(({ tookMs }) => tookMs)))} ms, ` +
      `${during.length} admitted at the same time, p99  ${Math.round(quantileMs(during, 0.99))} ms, ` +
      `the web app's 503 within ${Math.round(Math.max(...visits.map(({ tookMs }) => tookMs)))} ms, ` +
      `half of the health checks within ${Math.round(medianHealthMs)} ms, back within ${Math.round(backMs)} ms`,
  );
  // A busy machine delays every response, including those that wait for nothing.
  expect(backMs).toBeLessThan(5_000 + 5 * stallMs);
  expectWithinDeadline(outcomes, stallMs);
  // Requests that get 503 because no connection is free were admitted, so they count as uses.
  if (stallMs < busyMs) expect(counted).toBe(received);
  expect(calls.filter(({ status, retryAfter }) => status !== 503 || retryAfter !== "1")).toEqual([]);
  expect(calls.filter(({ tookMs }) => tookMs > deadlineMs + 2 * stallMs)).toEqual([]);
  expect(countStatuses(visits.map(({ status }) => ({ status, errorCode: undefined })))).toEqual({ 503: 30 });
  // The web app has no guaranteed response time. Requests with a connection wait for the statement timeout, 5 s,
  // and the others for the pool's timeout, 1.5 s. A request can get a connection just before the pool's timeout.
  const quick = visits.filter(({ tookMs }) => tookMs < 4_000 + stallMs);
  expect(quick.length).toBeGreaterThanOrEqual(20);
  expect(visits.filter(({ tookMs }) => tookMs > 6_500 + 2 * stallMs)).toEqual([]);
  // The open API reads lists in its pool for reads; the web app looks up the session in its pool for writes.
  // On a busy machine, a request can reach its deadline before it has opened a connection.
  const connections = [pools["latchkey open reads"] ?? 0, pools.latchkey ?? 0];
  expect(Math.max(...connections)).toBeLessThanOrEqual(5);
  if (stallMs < busyMs) expect(connections).toEqual([5, 5]);
  // Each health check would take as long as the pool's timeout if it waited for a pool.
  expect(medianHealthMs).toBeLessThan(1_000 + stallMs);
  expectAllAdmitted(during, stallMs);
  expectAllAdmitted(verifiedDuring, stallMs);
  expect(verifiedDuring.filter(({ status, code }) => status === 200 && code !== "VALID")).toEqual([]);
});

/**
 * Opens connections until the server has none left. Continues after a rejected attempt, because a session of the node
 * ends only after its connection was cut, and then leaves another one free.
 */
async function takeAllConnections(): Promise<readonly pg.Client[]> {
  const taken: pg.Client[] = [];
  const isFull = async (): Promise<boolean> => {
    const attempts = await Promise.allSettled(Array.from({ length: 20 }, () => open(environment.database)));
    for (const attempt of attempts) {
      if (attempt.status === "fulfilled") taken.push(attempt.value);
      else expect(attempt.reason).toMatchObject({ code: "53300" });
    }
    const counted = await taken[0]?.query<{ isFull: boolean }>(
      `select count(*) = current_setting('max_connections')::integer
          and count(*) filter (where datname = current_database()) = $1 as "isFull"
        from pg_stat_activity where backend_type = 'client backend'`,
      [taken.length],
    );
    return counted?.rows[0]?.isFull === true;
  };
  await eventually("the server has no connection left", isFull);
  return taken;
}

test("returns 503 within the deadline while Postgres has no free connection, spends nothing, and recovers automatically", async () => {
  const { node, proxy, database, recovered } = environment;
  const { id, key } = await environment.knownKey("no connection left");
  const health = watchHealth();
  const stopMeasuring = await measureStall(node.baseUrl);
  const issued = await issueKey(keyspace, { credits: { remaining: balance } });
  const load = startLoad({ baseUrls: [node.baseUrl], key, connections: 8 });
  const verifying = startVerifying(issued);
  await Promise.all([load.reached(200), verifying.reached(100)]);
  proxy.cut();
  const taken = await takeAllConnections();
  proxy.accept();
  const exhaustedAt = performance.now();
  const readCredits = async () =>
    (
      await taken[0]?.query<{ credits: string }>("select credits from key_counters where key_id = $1", [
        issuedKeyUuid(issued.id),
      ])
    )?.rows;
  const creditsBefore = await readCredits();
  await Promise.all([
    load.reached(load.outcomes.length + 50),
    verifying.reached(verifying.outcomes.length + 25),
  ]);
  const away = await callOpen(node.baseUrl, key);
  const during = load.outcomes.filter(({ sentAt }) => sentAt > exhaustedAt);
  const verifiedDuring = verifying.outcomes.filter(({ sentAt }) => sentAt > exhaustedAt);
  const creditsAfter = await readCredits();
  const medianHealthMs = health.medianMsSince(exhaustedAt);
  await Promise.all(taken.map((client) => client.end()));
  const backMs = await recovered();
  const isServed = async () => {
    const from = verifying.outcomes.length;
    await verifying.reached(from + 16);
    return verifying.outcomes.slice(from).every(({ code }) => code === "VALID");
  };
  await eventually("keys are verified again", isServed);
  await load.reached(load.outcomes.length + 100);
  const outcomes = await load.stop();
  await verifying.stop();
  await health.end();
  const stallMs = await stopMeasuring();
  verifyCounts(
    "Postgres without a connection left",
    {
      answered: countAnswered(outcomes) + 1,
      counted: await readUses(database, id),
      received: load.sent() + 2,
    },
    `${taken.length} connections taken, back within ${Math.round(backMs)} ms`,
  );
  expect(away).toMatchObject({ status: 503, code: "SERVICE_UNAVAILABLE", retryAfter: "1" });
  expectAllUnavailable(during);
  expectWithinDeadline([...outcomes, ...verifying.outcomes], stallMs);
  expectAllUnavailable(verifiedDuring);
  expect(creditsAfter).toEqual(creditsBefore);
  await expectCommitted("Postgres without a connection left", issued, verifying);
  expect(medianHealthMs).toBeLessThan(1_000 + stallMs);
  expect(countStatuses(outcomes.slice(-50))).toEqual({ 200: 50 });
});
