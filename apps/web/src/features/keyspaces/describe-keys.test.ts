import { expect, test } from "vitest";
import { describeDeletion, describeDisabling, describeImpact, describeKeys } from "./describe-keys.ts";

const of = (keyCount: number, activeKeyCount: number, isActiveKeyCountPartial = false) => ({
  ...{ keyCount, activeKeyCount, isActiveKeyCountPartial },
});
/** As a node of an earlier version answers. */
const untyped = { keyCount: 3 } as ReturnType<typeof of>; // The type describes the current version.
const enabled = { isDisabled: false };
const disabled = { isDisabled: true };

test("describes the keys of a consumer or a keyspace", () => {
  expect([of(0, 0), of(1, 0), of(1, 1), of(3, 0), of(3, 2), of(3, 3)].map(describeKeys)).toEqual([
    ...["No keys", "1 key, not active", "1 key, active"],
    ...["3 keys, none of them active", "3 keys, 2 of them active", "3 keys, all active"],
  ]);
  expect([of(3, 2), of(12_000, 9_000, true), of(12_000, 0, true), untyped].map(describeImpact)).toEqual([
    "3 keys, 2 of them active",
    "12,000 keys, at least 9,000 of them active",
    ...["12,000 keys", "3 keys"],
  ]);
});

test("disabling affects the active keys", () => {
  const words = [undefined, of(0, 0), of(3, 0), of(3, 1), of(3, 2), of(12_000, 9_000, true), untyped];
  const end = "fail with DISABLED from the next request, until you enable the keyspace again.";
  expect(words.map(describeDisabling)).toEqual(
    ["keys", "keys", "keys", "1 active key", "2 active keys", "keys", "keys"].map(
      (keys) => `Verifications of its ${keys} ${end}`,
    ),
  );
});

test("deleting removes all keys, and stops the active ones", () => {
  const they = "from the next request, on every service that verifies them. This can’t be undone.";
  const it = "from the next request, on every service that verifies it. This can’t be undone.";
  expect(describeDeletion(undefined, enabled)).toBe("Its keys are deleted. This can’t be undone.");
  expect(describeDeletion(of(0, 0), enabled)).toBe("The keyspace has no keys. This can’t be undone.");
  expect(describeDeletion(of(1, 1), enabled)).toBe(`1 key is deleted and stops working ${it}`);
  expect(describeDeletion(of(3, 3), enabled)).toBe(`3 keys are deleted and stop working ${they}`);
  expect(describeDeletion(of(3, 2), enabled)).toBe(
    `3 keys are deleted. The 2 active ones stop working ${they}`,
  );
  expect(describeDeletion(of(3, 1), enabled)).toBe(`3 keys are deleted. The active one stops working ${it}`);
  for (const impact of [of(12_000, 9_000, true), of(12_000, 0, true)])
    expect(describeDeletion(impact, enabled)).toBe(
      `12,000 keys are deleted. Those that are active stop working ${they}`,
    );
  expect(describeDeletion(untyped, enabled)).toBe(
    `3 keys are deleted. Those that are active stop working ${they}`,
  );
});

test("keys that don’t work now don’t stop working", () => {
  const none = "3 keys are deleted. None of them works now. This can’t be undone.";
  expect(describeDeletion(of(3, 0), enabled)).toBe(none);
  expect(describeDeletion(of(3, 3), disabled)).toBe(none);
  expect(describeDeletion(of(1, 0), enabled)).toBe(
    "1 key is deleted. It doesn’t work now. This can’t be undone.",
  );
});
