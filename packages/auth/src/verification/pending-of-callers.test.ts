import { expect, test } from "vitest";
import { PendingOfCallers } from "./pending-of-callers.ts";

test("a caller can have as many pending requests and verifications as allowed, whatever others have", () => {
  const pending = new PendingOfCallers(10);
  const add = (caller: string, verifications: number) =>
    pending.add(caller, { verifications, maxRequests: 2 });
  const remove = add("a", 4);
  expect(add("a", 7)).toBeUndefined();
  expect(add("a", 6)).toBeDefined();
  expect(add("a", 0)).toBeUndefined();
  expect(add("b", 10)).toBeDefined();
  remove?.();
  expect(add("a", 5)).toBeUndefined();
  expect(add("a", 4)).toBeDefined();
  expect(pending.add("a", { verifications: 0, maxRequests: 2 })).toBeUndefined();
  expect(pending.add("a", { verifications: 0, maxRequests: 3 })).toBeDefined();
});
