import { Writable } from "node:stream";
import { Admission } from "@latchkey/auth/admission";
import { createApiKey } from "@latchkey/auth/key-format";
import { AppError } from "@latchkey/errors";
import pg from "pg";
import { pino } from "pino";
import { expect, onTestFinished, test, vi } from "vitest";
import { EventLog } from "./event-log.ts";

type Line = Readonly<Record<string, unknown>>;

function createLog() {
  const lines: Line[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)) as Line);
      done();
    },
  });
  /** Returns the lines since the last call. */
  return { log: pino(stream), next: () => lines.splice(0) };
}

function createEventLog() {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { log, next } = createLog();
  let isAvailable = false;
  let probes = 0;
  const events = new EventLog({
    log,
    async isDatabaseAvailable() {
      probes += 1;
      return isAvailable;
    },
  });
  return {
    events,
    lose() {
      isAvailable = false;
      events.reportFailure("admission", refused(), "requests could not be admitted");
    },
    recover() {
      isAvailable = true;
    },
    probes: () => probes,
    reject: (error: AppError) => events.reportRequest({ source: "open API", error, requestId: "r" }),
    pass: (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds),
    next,
  };
}

function refused(): Error {
  return Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED", syscall: "connect" });
}

function databaseError(code: string): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError("a message", 0, "error"), { code });
}

test("logs an outage as one event: a line when it begins, one per minute, and one when it ends", async () => {
  const { events, lose, recover, reject, pass, next } = createEventLog();
  lose();
  expect(next()).toMatchObject([
    { msg: "the database is unavailable", source: "admission", err: { message: "connect ECONNREFUSED" } },
  ]);
  for (let round = 0; round < 1_000; round += 1) {
    lose();
    reject(new AppError("SERVICE_UNAVAILABLE"));
    reject(new AppError("SERVICE_UNAVAILABLE", { cause: databaseError("57P03") }));
    events.reportFailure("statistics", databaseError("57P01"), "the history could not be written");
  }
  expect(next()).toEqual([]);
  await pass(60_000);
  expect(next()).toMatchObject([
    {
      msg: "the database is still unavailable",
      durationMs: 60_000,
      errors: 3_001,
      rejectedRequests: 2_000,
      lastError: "57P01",
    },
  ]);
  recover();
  await pass(1_000);
  expect(next()).toEqual([]);
  await pass(2_000);
  const [end, ...rest] = next();
  expect(end).toMatchObject({
    msg: "the database is available again",
    errors: 3_001,
    rejectedRequests: 2_000,
  });
  expect(end?.durationMs).toBe(60_500);
  expect(rest).toEqual([]);
});

test("the node's own checks of the database are not counted as errors, even if one of them begins the outage", async () => {
  let failedChecks = 0;
  const { log, next } = createLog();
  const admission = new Admission({
    connection: { connectionString: "postgres://nobody@127.0.0.1:1/none" },
    onFailure(error, isHealthCheck) {
      failedChecks += 1;
      events.reportAdmissionFailure(error, isHealthCheck);
    },
  });
  onTestFinished(() => admission.close());
  const isDatabaseAvailable = () => admission.isAvailable();
  const events = new EventLog({ log, isDatabaseAvailable, firstIntervalMs: 10 });
  expect(await admission.isAvailable()).toBe(false);
  // More of them, from the timer.
  await expect.poll(() => failedChecks).toBeGreaterThan(2);
  expect((await admission.admit(createApiKey().secret)).kind).toBe("unavailable");
  events.close();
  expect(next()).toMatchObject([
    { msg: "the database is unavailable", source: "health check" },
    { msg: "the database is still unavailable", errors: 1, lastError: "ECONNREFUSED" },
  ]);
});

test("continues an outage while any part of the node fails, even if a query succeeds", async () => {
  const { lose, recover, pass, next } = createEventLog();
  lose();
  next();
  for (let round = 0; round < 20; round += 1) {
    recover();
    await pass(1_000);
    lose();
  }
  recover();
  expect(next()).toEqual([]);
  await pass(3_000);
  expect(next()).toMatchObject([{ msg: "the database is available again", errors: 21 }]);
});

test("logs few lines for a connection that breaks repeatedly", async () => {
  const { lose, recover, pass, next } = createEventLog();
  for (let seconds = 0; seconds < 3_600; seconds += 5) {
    lose();
    recover();
    await pass(5_000);
  }
  await pass(120_000);
  const lines = next();
  expect(lines.length).toBeLessThan(100);
  expect(lines.at(-1)).toMatchObject({ msg: "the database is available again" });
});

test("counts requests that were rejected just before an outage was detected", async () => {
  const { lose, recover, reject, pass, next } = createEventLog();
  for (let count = 0; count < 50; count += 1) reject(new AppError("SERVICE_UNAVAILABLE"));
  await pass(100);
  lose();
  recover();
  await pass(10_000);
  expect(next()).toMatchObject([
    { msg: "the database is unavailable" },
    { msg: "the database is available again", rejectedRequests: 50 },
  ]);
});

test("counts rejections without an outage separately, without querying the database", async () => {
  const { events, reject, pass, next, probes } = createEventLog();
  for (let count = 0; count < 50; count += 1) reject(new AppError("SERVICE_UNAVAILABLE"));
  await pass(500);
  expect(next()).toMatchObject([{ level: 40, msg: expect.stringContaining("too many"), count: 50 }]);
  for (let count = 0; count < 5_000; count += 1) reject(new AppError("SERVICE_UNAVAILABLE"));
  events.close();
  expect(next()).toMatchObject([{ count: 5_000 }]);
  expect(probes()).toBe(0);
});

test.each(["57014", "55P03", "25P03"])("SQLSTATE %s is no outage", async (code) => {
  const { reject, pass, next } = createEventLog();
  for (let count = 0; count < 100; count += 1)
    reject(new AppError("SERVICE_UNAVAILABLE", { cause: databaseError(code) }));
  await pass(5_000);
  expect(next()).toMatchObject([
    { level: 40, error: "DatabaseError", code, count: 1, requestId: "r", err: {} },
    { level: 40, error: "DatabaseError", code, count: 99, requestId: "r" },
  ]);
});

test("doesn't treat an exhausted pool or a disconnected client as an outage", () => {
  const { events, next } = createEventLog();
  events.reportFailure("a", new Error("timeout exceeded when trying to connect"), "a wait");
  events.reportFailure("b", Object.assign(new Error("aborted"), { code: "ECONNRESET" }), "an upload");
  expect(next().map(({ msg }) => msg)).toEqual(["a wait", "an upload"]);
});

test("bugs are logged with their stack once, and then counted", async () => {
  const { reject, pass, next } = createEventLog();
  for (let count = 0; count < 10; count += 1)
    reject(new AppError("INTERNAL_SERVER_ERROR", { cause: new TypeError(`a bug in ${count}`) }));
  await pass(5_000);
  expect(next()).toMatchObject([
    { level: 50, error: "TypeError", count: 1, err: { message: "a bug in 0" } },
    { level: 50, error: "TypeError", count: 9 },
  ]);
});

test("close writes pending counts and an ongoing outage", () => {
  const { events, lose, reject, next } = createEventLog();
  const bug = new AppError("INTERNAL_SERVER_ERROR", { cause: new TypeError("a bug") });
  for (let count = 0; count < 3; count += 1) reject(bug);
  lose();
  reject(new AppError("SERVICE_UNAVAILABLE"));
  next();
  events.close();
  expect(next()).toMatchObject([
    { error: "TypeError", count: 2 },
    { msg: "the database is still unavailable", errors: 1, rejectedRequests: 1 },
  ]);
});

test("the timer doesn't keep the process alive", () => {
  const { events, lose } = createEventLog();
  vi.useRealTimers();
  onTestFinished(() => events.close());
  // Node lists only the timers that keep the process alive.
  const countTimers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const before = countTimers();
  lose();
  expect(countTimers()).toBe(before);
});
