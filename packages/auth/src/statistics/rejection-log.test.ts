import type { KeyId } from "@latchkey/db/ids";
import { expect, test } from "vitest";
import { createApiKey } from "../key-format.ts";
import { RejectionLog, toShortText, toShortWord } from "./rejection-log.ts";

interface Rejection {
  readonly keyId: KeyId;
  readonly requestId: string;
}

function rejectionOf(key: string, requestId = "request"): Rejection {
  return { keyId: key as KeyId, requestId }; // Nothing here reads an id.
}

test("rejections are kept unchanged", () => {
  const log = new RejectionLog<Rejection>();
  const rejections = [rejectionOf("a"), rejectionOf("a", "other")];
  for (const rejection of rejections) log.add("user", rejection);
  expect(log.take()).toEqual(rejections);
  expect(log.pendingCount).toBe(2);
});

test("texts are cut to their maximum length, without NUL and with API keys redacted", () => {
  const { secret } = createApiKey();
  const long = "x".repeat(1_000);
  expect(toShortWord(long)).toBe(long.slice(0, 200));
  expect(toShortText(long)).toBe(long.slice(0, 500));
  expect(toShortWord("1\0.2")).toBe("1.2");
  expect(toShortText(`/\0${secret}/a`)).toBe("/lk_…/a");
  expect(toShortWord(secret)).toBe("lk_…");
});

test("a key keeps its latest 100 rejections", () => {
  const log = new RejectionLog<Rejection>();
  for (let count = 0; count < 101; count += 1) log.add("user", rejectionOf("a", `${count}`));
  expect(log.pendingCount).toBe(100);
  const kept = log.take().map(({ requestId }) => requestId);
  expect([kept.length, kept[0], kept.at(-1)]).toEqual([100, "1", "100"]);
});

test("keys of an owner with many rejections lose entries in turn to make room", () => {
  const log = new RejectionLog<Rejection>();
  const add = (key: string): void => log.add("user", rejectionOf(key));
  for (let key = 0; key < 50; key += 1) for (let count = 0; count < 100; count += 1) add(`key ${key}`);
  for (let count = 0; count < 16; count += 1) add(`new key ${count}`);
  const counts = Map.groupBy(log.take(), ({ keyId }) => keyId)
    .values()
    .map(({ length }) => length)
    .toArray();
  expect(counts.filter((count) => count > 1).toSorted((one, other) => one - other)).toEqual([
    ...Array(16).fill(99),
    ...Array(34).fill(100),
  ]);
});

test("keys whose rejections were all written or dropped no longer lose entries to make room", () => {
  const log = new RejectionLog<Rejection>();
  const add = (key: string): void => log.add("user", rejectionOf(key));
  for (let key = 0; key < 8; key += 1) add(`written ${key}`);
  log.settle(log.take());
  expect([log.pendingCount, log.take()]).toEqual([0, []]);
  for (let key = 0; key < 5_100; key += 1) add(`key ${key}`);
  expect([log.pendingCount, log.take().length]).toEqual([5_000, 5_000]);
  for (let key = 0; key < 10_000; key += 1) add(`late ${key}`);
  expect([log.pendingCount, log.take().length]).toEqual([5_000, 5_000]);
});

test("a key whose rejections were all written loses no more entries while its owner has others", () => {
  const log = new RejectionLog<Rejection>();
  const add = (key: string): void => log.add("user", rejectionOf(key));
  for (let key = 0; key < 8; key += 1) add(`written ${key}`);
  const written = log.take();
  add("kept");
  log.settle(written);
  for (let key = 0; key < 5_100; key += 1) add(`key ${key}`);
  expect([log.pendingCount, log.take().length]).toEqual([5_000, 5_000]);
});

test("an owner whose rejections were all written or dropped is forgotten", () => {
  const log = new RejectionLog<Rejection>();
  log.add("user", rejectionOf("a"));
  log.add("another user", rejectionOf("b"));
  expect(log.ownerCount).toBe(2);
  log.settle(log.take().slice(0, 1));
  expect([log.ownerCount, log.take()]).toEqual([1, [rejectionOf("b")]]);
  for (let owner = 0; owner < 6_000; owner += 1) log.add(`owner ${owner}`, rejectionOf(`key ${owner}`));
  expect([log.ownerCount, log.pendingCount]).toEqual([5_000, 5_000]);
});
