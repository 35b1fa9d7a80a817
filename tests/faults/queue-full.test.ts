import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type FaultStage, setFaultStage } from "../support/fault-stage.ts";
import { holdLocks, readUses, toUuid } from "../support/inspection.ts";
import {
  closeLedger,
  countAnswered,
  countStatuses,
  expectAllRefused,
  expectPunctual,
  promisedMs,
  quantileMs,
} from "../support/ledger.ts";
import { type Outcome, startLoad } from "../support/load.ts";
import { callOpen, statusOf } from "../support/open-call.ts";
import { startPipelinedLoad } from "../support/pipelined-load.ts";

// More requests of one key than a node lets wait, while it cannot be admitted.

let stage: FaultStage;
/** How long this machine takes at the moment to send, read and answer a crowd that nothing stops, in milliseconds. */
let unstoppedMs: number;
beforeAll(async () => {
  stage = await setFaultStage();
  const { key } = await stage.knownKey("unstopped");
  const startedAt = performance.now();
  await startPipelinedLoad({ baseUrl: stage.node.baseUrl, key, ...crowd }).ended;
  unstoppedMs = performance.now() - startedAt;
});
afterAll(async () => {
  await stage?.close();
});

/** 13,824 requests: a queue of 10,000, a batch of 1,024 under way, and a good many that are too many. */
const crowd = { connections: 432, requestsEach: 32 } as const;
const crowdSize = crowd.connections * crowd.requestsEach;

/** The most requests that one statement takes. */
const maxBatch = 1_024;

/** The most that a node with 10,000 waiting requests may have had in memory at once, in megabytes. */
const maxResidentMb = 600;

/** The most memory that a process has had so far, in megabytes. */
async function readPeakMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1_024;
}

/** What a crowd with one key met while nobody could be admitted by it, and others beside it. */
interface Crowded {
  readonly crowd: Readonly<Record<string, number>>;
  readonly others: readonly Outcome[];
  /** Uses of the crowd's key that the database holds: the first one, the one afterwards, and what more? */
  readonly counted: number;
}

/** Lets a crowd come while its key is stopped, and others, so many if told, from when the first of it was turned away. */
async function comeInCrowds(
  when: string,
  stop: (keyId: string) => Promise<() => Promise<void>>,
  requestsOfOthers?: number,
): Promise<Crowded> {
  const { node, database } = stage;
  const [mine, theirs] = [await stage.knownKey(when), await stage.knownKey(`another's ${when}`)];
  const goOn = await stop(mine.id);
  const startedAt = performance.now();
  const waiting = startPipelinedLoad({ baseUrl: node.baseUrl, key: mine.key, ...crowd });
  // Nobody is admitted, and nobody has waited for long: who is answered was one too many.
  await waiting.firstAnswer;
  const fullAfterMs = performance.now() - startedAt;
  const others = startLoad({
    baseUrls: [node.baseUrl],
    key: theirs.key,
    connections: 10,
    ...(requestsOfOthers ? { requests: requestsOfOthers } : {}),
  });
  await others.reached(100);
  const hundredAfterMs = performance.now() - startedAt;
  const healthAt = performance.now();
  const health = await statusOf(node.baseUrl, "/healthz");
  const healthMs = performance.now() - healthAt;
  const statuses = countStatuses(
    (await waiting.ended).map((status) => ({ status: Number(status), errorCode: undefined })),
  );
  const answeredAfterMs = performance.now() - startedAt;
  if (!requestsOfOthers) await others.reached(300);
  await others.stop();
  await goOn();
  await stage.recovered();
  const next = await callOpen(node.baseUrl, mine.key);
  const peakMb = await readPeakMb(node.pid);
  const counted = await readUses(database, mine.id);
  closeLedger(
    `a crowd with one key, ${when}`,
    {
      answered: 2 + (next.status === 200 ? 1 : 0) + countAnswered(others.outcomes),
      counted: counted + (await readUses(database, theirs.id)),
      received: 3 + crowdSize + others.sent(),
    },
    `the first turned away after ${Math.round(fullAfterMs)} ms, the last after ${Math.round(answeredAfterMs)} ms; ` +
      `${JSON.stringify(countStatuses(others.outcomes))} to others: the median within ` +
      `${Math.round(quantileMs(others.outcomes, 0.5))} ms, 99 of 100 within ` +
      `${Math.round(quantileMs(others.outcomes, 0.99))} ms, a hundred until ${Math.round(hundredAfterMs)} ms; ` +
      `health within ${Math.round(healthMs)} ms; an unstopped crowd takes ${Math.round(unstoppedMs)} ms; at most ${Math.round(peakMb)} MB in memory`,
  );
  // A request of a crowd also waits for those before it to be read and answered, however busy the machine is.
  expect(fullAfterMs).toBeLessThan(1_000 + unstoppedMs);
  expect(answeredAfterMs).toBeLessThan(promisedMs + 2 * unstoppedMs);
  expect(quantileMs(others.outcomes, 0.5)).toBeLessThan(100 + unstoppedMs / 10);
  expect(health).toBe(200);
  expect(next.status).toBe(200);
  expect(next.tookMs).toBeLessThan(500);
  expect(peakMb).toBeLessThan(maxResidentMb);
  return { crowd: statuses, others: others.outcomes, counted };
}

test("while Postgres is silent callers past the bound of the queue get 503 at once, and the server stays up", async () => {
  const silence = async () => {
    stage.proxy.hold();
    return async () => stage.proxy.release();
  };
  const { crowd, others, counted } = await comeInCrowds("while Postgres is silent", silence, 100);
  expect(crowd).toEqual({ 503: crowdSize });
  expectAllRefused(others);
  expect(others.filter(({ retryAfter }) => retryAfter !== "1")).toEqual([]);
  // The two statements under way are carried out when Postgres speaks again; nothing that waited behind them is.
  expect(counted).toBeGreaterThanOrEqual(2);
  expect(counted).toBeLessThanOrEqual(2 + 2 * maxBatch);
});

test("while a transaction holds a key's row its callers past half of the queue's bound get 503 at once, and everybody else is admitted", async () => {
  const when = "while another transaction holds its row";
  const { crowd, others, counted } = await comeInCrowds(when, async (keyId) => {
    const statement = "select from key_counters where key_id = $1 for update";
    return (await holdLocks(stage.database, statement, [toUuid(keyId)])).letGo;
  });
  expect(crowd).toEqual({ 503: crowdSize });
  expectPunctual(others, unstoppedMs);
  // In the first rush there is no room for anybody; as soon as the node knows that the key is held, there is.
  const later = others.slice(-Math.floor(others.length / 2));
  expect(later.length).toBeGreaterThan(100);
  expect(countStatuses(later)).toEqual({ 200: later.length });
  expect(counted).toBe(2);
});
