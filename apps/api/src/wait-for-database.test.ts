import pg from "pg";
import { expect, test } from "vitest";
import { waitForDatabase } from "./wait-for-database.ts";

const refused = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:1"), { code: "ECONNREFUSED" });

function databaseError(code: string): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError(code, 0, "error"), { code });
}

/** A database that fails one attempt with each of these errors and then works. Time passes only during pauses. */
function failWith(failures: readonly unknown[], waitMs: number) {
  let nowMs = 0;
  let attempts = 0;
  const reported: unknown[] = [];
  const connected = waitForDatabase(
    async () => {
      attempts += 1;
      if (attempts <= failures.length) throw failures[attempts - 1];
      return "connected";
    },
    {
      waitMs,
      onWait: (error) => reported.push(error),
      now: () => nowMs,
      pause: async (milliseconds) => {
        nowMs += milliseconds;
      },
    },
  );
  return { connected, reported, attempts: () => attempts, waitedMs: () => nowMs };
}

test.each([
  ["nobody listens", refused],
  ["its name is not known yet", Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" })],
  ["the connection is cut", new Error("Connection terminated unexpectedly")],
  ["nobody answers", new Error("timeout expired")],
  ["it is starting", databaseError("57P03")],
  ["it is stopping", databaseError("57P01")],
  ["it has no connection left", databaseError("53300")],
  ["none of its addresses answers", new AggregateError([refused, refused])],
])("waits while %s", async (_what, failure) => {
  const { connected, waitedMs } = failWith([failure, failure, failure], 30_000);
  expect(await connected).toBe("connected");
  expect(waitedMs()).toBe(250 + 500 + 1_000);
});

test.each([
  ["the password is wrong", databaseError("28P01")],
  ["the database does not exist", databaseError("3D000")],
  ["the login is not allowed", databaseError("28000")],
  [
    "the certificate is not trusted",
    Object.assign(new Error("self-signed certificate"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" }),
  ],
])("fails immediately if %s", async (_what, failure) => {
  const { connected, attempts, reported } = failWith([failure], 30_000);
  await expect(connected).rejects.toBe(failure);
  expect(attempts()).toBe(1);
  expect(reported).toEqual([]);
});

test("fails with the last error when the time is up", async () => {
  const last = databaseError("57P03");
  const { connected, waitedMs } = failWith([...Array(31).fill(refused), ...Array(9).fill(last)], 30_000);
  await expect(connected).rejects.toBe(last);
  expect(waitedMs()).toBeGreaterThan(29_000);
  expect(waitedMs()).toBeLessThanOrEqual(30_000);
});

test("reports each reason once while it lasts", async () => {
  const starting = databaseError("57P03");
  const { connected, reported } = failWith([refused, refused, starting, starting, refused], 30_000);
  await connected;
  expect(reported).toEqual([refused, starting, refused]);
});

test("tries once if the wait time is 0", async () => {
  const { connected, attempts } = failWith([refused], 0);
  await expect(connected).rejects.toBe(refused);
  expect(attempts()).toBe(1);
});

test("ends when the signal aborts", async () => {
  const stop = new AbortController();
  const connected = waitForDatabase(() => Promise.reject(refused), {
    waitMs: 30_000,
    signal: stop.signal,
    onWait: () => stop.abort(),
  });
  await expect(connected).rejects.toMatchObject({ name: "AbortError" });
});
