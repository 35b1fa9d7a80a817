import { createId, type KeyId } from "@latchkey/db/ids";
import { expect, test } from "vitest";
import { createApiKey } from "../key-format.ts";
import { type LoggedRejection, RejectionLog } from "./rejection-log.ts";

const id = createId("keyRejection");

function rejectionOf(key: string, change: Partial<LoggedRejection> = {}): LoggedRejection {
  return {
    keyId: key as KeyId,
    id,
    occurredAt: new Date("2026-03-02T12:30:00Z"),
    address: "192.0.2.1",
    method: "GET",
    path: "/open/me",
    requestId: "request",
    reason: "expired",
    ...change,
  };
}

test("a rejected request is kept unchanged, with or without an address", () => {
  const log = new RejectionLog();
  const rejections = [rejectionOf("a"), rejectionOf("a", { address: null, reason: "limited" })];
  for (const rejection of rejections) log.add(rejection);
  expect(log.take()).toEqual(rejections);
  expect(log.pendingCount).toBe(2);
});

test("texts are cut to their maximum length, without NUL and with API keys redacted", () => {
  const log = new RejectionLog();
  const { secret } = createApiKey();
  const long = "x".repeat(1_000);
  log.add(rejectionOf("a", { address: long, method: long, path: long, requestId: long }));
  log.add(rejectionOf("a", { address: "1\0.2", method: "G\0ET", path: `/\0${secret}/a`, requestId: secret }));
  const word = long.slice(0, 200);
  expect(log.take()).toMatchObject([
    { address: word, method: word, path: long.slice(0, 500), requestId: word },
    { address: "1.2", method: "GET", path: "/lk_…/a", requestId: "lk_…" },
  ]);
});

test("a key keeps its latest 100 rejected requests", () => {
  const log = new RejectionLog();
  for (let count = 0; count < 101; count += 1) log.add(rejectionOf("a", { requestId: `${count}` }));
  expect(log.pendingCount).toBe(100);
  const kept = log.take().map(({ requestId }) => requestId);
  expect([kept.length, kept[0], kept.at(-1)]).toEqual([100, "1", "100"]);
});

test("keys with many rejected requests lose entries in turn to make room", () => {
  const log = new RejectionLog();
  for (let key = 0; key < 50; key += 1)
    for (let count = 0; count < 100; count += 1) log.add(rejectionOf(`key ${key}`));
  for (let count = 0; count < 16; count += 1) log.add(rejectionOf(`new key ${count}`));
  const counts = Map.groupBy(log.take(), ({ keyId }) => keyId)
    .values()
    .map(({ length }) => length)
    .toArray();
  expect(counts.filter((count) => count > 1).toSorted((one, other) => one - other)).toEqual([
    ...Array(16).fill(99),
    ...Array(34).fill(100),
  ]);
});

test("keys whose rejected requests were all written or dropped no longer lose entries to make room", () => {
  const log = new RejectionLog();
  for (let key = 0; key < 8; key += 1) log.add(rejectionOf(`written ${key}`));
  log.settle(log.take());
  expect([log.pendingCount, log.take()]).toEqual([0, []]);
  for (let key = 0; key < 5_100; key += 1) log.add(rejectionOf(`key ${key}`));
  expect([log.pendingCount, log.take().length]).toEqual([5_000, 5_000]);
  for (let key = 0; key < 10_000; key += 1) log.add(rejectionOf(`late ${key}`));
  expect([log.pendingCount, log.take().length]).toEqual([5_000, 5_000]);
});
