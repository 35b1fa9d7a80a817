import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type FaultStage, setFaultStage } from "../support/fault-stage.ts";
import { holdLocks, readUses, toUuid } from "../support/inspection.ts";
import { closeLedger, countStatuses, expectAllRefused, promisedMs, quantileMs } from "../support/ledger.ts";
import { startLoad } from "../support/load.ts";
import { callOpen, statusOf } from "../support/open-call.ts";
import { startPipelinedLoad } from "../support/pipelined-load.ts";

// More requests than a node lets wait, while none can be admitted.

let stage: FaultStage;
beforeAll(async () => {
  stage = await setFaultStage();
});
afterAll(async () => {
  await stage?.close();
});

/** 13,824 requests: a queue of 10,000, a batch of 1,024 under way, and a good many that are too many. */
const crowd = { connections: 432, requestsEach: 32 } as const;
const crowdSize = crowd.connections * crowd.requestsEach;

/** The most that a node with 10,000 waiting requests may have had in memory at once, in megabytes. */
const maxResidentMb = 600;

/** The most memory that a process has had so far, in megabytes. */
async function readPeakMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1_024;
}

test.each([
  [
    "while Postgres is silent",
    async () => {
      stage.proxy.hold();
      return () => stage.proxy.release();
    },
  ],
  [
    "while another transaction holds their key's row",
    async (id: string) => {
      const statement = "select from key_counters where key_id = $1 for update";
      const { letGo } = await holdLocks(stage.database, statement, [toUuid(id)]);
      return letGo;
    },
  ],
])("past the bound of the queue callers get 503 at once, and the server stays up, %s", async (when, stop) => {
  const { node, database } = stage;
  const { id, key } = await stage.knownKey(when);
  const goOn = await stop(id);
  const startedAt = performance.now();
  const waiting = startPipelinedLoad({ baseUrl: node.baseUrl, key, ...crowd });
  // Nobody is admitted, and nobody has waited for long: who is answered was one too many.
  await waiting.firstAnswer;
  const fullAfterMs = performance.now() - startedAt;
  const surplus = startLoad({ baseUrls: [node.baseUrl], key, connections: 10, requests: 100 });
  await surplus.ended;
  const surplusEndedAfterMs = performance.now() - startedAt;
  const healthAt = performance.now();
  expect(await statusOf(node.baseUrl, "/healthz")).toBe(200);
  const healthMs = performance.now() - healthAt;
  const statuses = countStatuses(
    (await waiting.ended).map((status) => ({ status: Number(status), errorCode: undefined })),
  );
  const answeredAfterMs = performance.now() - startedAt;
  await goOn();
  await stage.recovered();
  const next = await callOpen(node.baseUrl, key);
  const peakMb = await readPeakMb(node.pid);
  const counted = await readUses(database, id);
  closeLedger(
    `the queue full, ${when}`,
    { answered: 2, counted, received: 2 + crowdSize + surplus.sent() },
    `full after ${Math.round(fullAfterMs)} ms, 503 at once to ${surplus.outcomes.length}: the median within ` +
      `${Math.round(quantileMs(surplus.outcomes, 0.5))} ms, 99 of 100 within ` +
      `${Math.round(quantileMs(surplus.outcomes, 0.99))} ms, until ${Math.round(surplusEndedAfterMs)} ms; ` +
      `the others within ${Math.round(answeredAfterMs)} ms; health within ${Math.round(healthMs)} ms; ` +
      `at most ${Math.round(peakMb)} MB in memory`,
  );
  expect(statuses).toEqual({ 503: crowdSize });
  // Who comes in a crowd of thousands waits for those before it to be read and answered as well.
  expect(answeredAfterMs).toBeLessThan(2 * promisedMs);
  expect(fullAfterMs).toBeLessThan(1_400);
  expectAllRefused(surplus.outcomes);
  expect(surplus.outcomes.filter(({ retryAfter }) => retryAfter !== "1")).toEqual([]);
  expect(quantileMs(surplus.outcomes, 0.5)).toBeLessThan(100);
  expect(next.status).toBe(200);
  expect(next.tookMs).toBeLessThan(500);
  expect(peakMb).toBeLessThan(maxResidentMb);
});
