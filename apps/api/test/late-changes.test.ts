// Changes of the open API that wait or run until the deadline of their request.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { defaultDeadlines } from "../src/deadlines.ts";
import { defaultQuotas } from "../src/domain/quotas.ts";
import { createWorkspace } from "../src/domain/workspaces.ts";
import { defineEndpoint, type Endpoint } from "../src/http/endpoint.ts";
import { createOpenClient } from "./open-client.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

/** How many changes of one user run at the same time. */
const maxRunning = 2;
/** How long after the arrival of its request a change can start, in milliseconds. */
const startWithinMs = 1_500;

interface Change {
  readonly name: string;
  /** When it joined the queue, by `performance.now()`. */
  readonly queuedAt: number;
  isStarted: boolean;
  outcome: "committed" | "rejected" | undefined;
}

/** The changes of the current test, in the order of their arrival. */
let changes: Change[] = [];
/** While it is closed, a change that has made its writes doesn't end. */
let gate = Promise.withResolvers<void>();

/** Creates a workspace, and waits for the gate before the transaction ends. */
function createHeld(method: "POST" | "PUT"): Endpoint {
  return defineEndpoint({
    method,
    path: "/held",
    operationId: `${method.toLowerCase()}Held`,
    summary: "Change something",
    description: "For tests of deadlines.",
    access: "key",
    request: { body: z.strictObject({ name: z.string() }) },
    response: { status: 200, description: "The result.", schema: z.object({ name: z.string() }) },
    errors: ["CONFLICT", "UNPROCESSABLE_CONTENT"],
    handle: async ({ body: { name } }, { transact, principal: { userId }, origin }) => {
      const change: Change = { name, queuedAt: performance.now(), isStarted: false, outcome: undefined };
      changes.push(change);
      try {
        await transact(async (trx) => {
          change.isStarted = true;
          await createWorkspace(trx, { name, ownerId: userId, origin }, defaultQuotas);
          await gate.promise;
        });
        change.outcome = "committed";
      } catch (error) {
        change.outcome = "rejected";
        throw error;
      }
      return { name };
    },
  });
}

let app: TestApp;
beforeAll(async () => {
  const { responseMs } = defaultDeadlines;
  app = await startTestApp({
    extraEndpoints: [createHeld("POST"), createHeld("PUT")],
    deadlines: { responseMs },
  });
});
afterAll(() => app.close());

const { send } = createOpenClient(() => app);

/** Adds a user and closes the gate. */
async function closeGate() {
  gate.resolve();
  const { userId, secret } = await app.addKey();
  const change = (method: "POST" | "PUT", name: string, headers: Readonly<Record<string, string>> = {}) =>
    send(secret, [method, "/held"], { name }, headers);
  // Until the app has opened its connections, a change on a busy machine can't start in time.
  await expect.poll(async () => (await change("PUT", "First")).status).toBe(200);
  await expect.poll(outcomes).not.toContain(undefined);
  changes = [];
  gate = Promise.withResolvers();
  onTestFinished(() => gate.resolve());
  return {
    change,
    /** The names of the changes that were committed, in order. */
    readCommitted: async () => {
      const rows = await app.owner
        .selectFrom("workspaces")
        .innerJoin("members", "members.workspace_id", "workspaces.id")
        .select("workspaces.name")
        .where("members.user_id", "=", userId)
        .where(
          "workspaces.name",
          "in",
          changes.map(({ name }) => name),
        )
        .orderBy("workspaces.name")
        .execute();
      return rows.map(({ name }) => name);
    },
  };
}

const startedNames = () => changes.filter(({ isStarted }) => isStarted).map(({ name }) => name);
const outcomes = () => changes.map(({ outcome }) => outcome);

test("a change that waits is rejected, and not started, when little time is left before its deadline", async () => {
  const { change, readCommitted } = await closeGate();
  const running = [change("PUT", "A"), change("PUT", "B")];
  await expect.poll(startedNames).toHaveLength(maxRunning);
  const waiting = change("PUT", "C");
  await expect.poll(() => changes.length).toBe(3);
  // The request arrived before its change joined the queue.
  const lateAt = (changes[2]?.queuedAt ?? 0) + startWithinMs;
  // A timer can fire a millisecond early.
  await delay(Math.max(0, lateAt - performance.now()) + 5);
  gate.resolve();
  expect(await waiting).toMatchObject({ status: 503, retryAfter: "1" });
  await Promise.all(running);
  await expect.poll(outcomes).toEqual(["committed", "committed", "rejected"]);
  expect(await readCommitted()).toEqual(["A", "B"]);
});

test.each([
  ["with an Idempotency-Key", "POST", { "Idempotency-Key": "held" }],
  ["of an idempotent method", "PUT", {}],
] as const)("a change %s that has started is completed after its 503", async (_which, method, headers) => {
  const { change, readCommitted } = await closeGate();
  expect((await change(method, "Late", headers)).status).toBe(503);
  gate.resolve();
  await expect.poll(outcomes).toEqual(["committed"]);
  await expect.poll(readCommitted).toEqual(["Late"]);
  if (method === "PUT") return;
  const replies: Awaited<ReturnType<typeof change>>[] = [];
  const repeat = async () => replies[replies.push(await change(method, "Late", headers)) - 1];
  await expect.poll(repeat).toMatchObject({ status: 200, replayed: "true" });
  expect(replies.map(({ status }) => status).filter((status) => ![200, 409, 503].includes(status))).toEqual(
    [],
  );
  expect(await readCommitted()).toEqual(["Late"]);
});

test("nothing in a user's queue is committed after its 503 if the requests have no Idempotency-Key", async () => {
  const { change, readCommitted } = await closeGate();
  const names = Array.from({ length: 20 }, (_, index) => `Queued ${index}`);
  const sentAt = performance.now();
  const tookMs: number[] = [];
  const replies = await Promise.all(
    names.map(async (name) => {
      const reply = await change("POST", name);
      tookMs.push(performance.now() - sentAt);
      return reply;
    }),
  );
  expect(replies).toEqual(names.map(() => expect.objectContaining({ status: 503, retryAfter: "1" })));
  // They wait as long as they can start. A timer can fire a millisecond early.
  expect(Math.min(...tookMs)).toBeGreaterThan(startWithinMs - 5);
  gate.resolve();
  await expect.poll(() => new Set(outcomes())).toEqual(new Set(["rejected"]));
  expect(startedNames().length).toBeLessThanOrEqual(maxRunning);
  expect(await readCommitted()).toEqual([]);
  // Later changes are made.
  const statuses: number[] = [];
  await expect.poll(async () => statuses[statuses.push((await change("POST", "Next")).status) - 1]).toBe(200);
  expect(statuses.filter((status) => ![200, 503].includes(status))).toEqual([]);
  expect(new Set(await readCommitted())).toEqual(new Set(["Next"]));
});
