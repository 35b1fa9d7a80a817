import { expect, test } from "vitest";
import { Changing } from "./changing.ts";

const possible = (value: Changing<string>): string[] => [...value.possible].sort();

test("a change may have taken effect from its beginning, and has when it is acknowledged", () => {
  const value = new Changing("a");
  const change = value.begin("b");
  expect(possible(value)).toEqual(["a", "b"]);
  value.acknowledge(change);
  expect(possible(value)).toEqual(["b"]);
});

test("a change that was refused never took effect", () => {
  const value = new Changing("a");
  value.cancel(value.begin("b"));
  expect(possible(value)).toEqual(["a"]);
});

test("of two changes at once either may have come last", () => {
  const value = new Changing("a");
  const [first, second] = [value.begin("b"), value.begin("c")];
  value.acknowledge(first);
  expect(possible(value)).toEqual(["b", "c"]);
  value.acknowledge(second);
  expect(possible(value)).toEqual(["b", "c"]);
  value.acknowledge(value.begin("d"));
  expect(possible(value)).toEqual(["d"]);
});

test("of changes that came and went during a long one, the last or the long one holds", () => {
  const value = new Changing("a");
  const long = value.begin("long");
  value.acknowledge(value.begin("b"));
  value.acknowledge(value.begin("c"));
  expect(possible(value)).toEqual(["c", "long"]);
  value.acknowledge(long);
  expect(possible(value)).toEqual(["c", "long"]);
});

test("a change that nobody ever acknowledges may take effect for ever", () => {
  const value = new Changing("a");
  value.begin("b");
  value.acknowledge(value.begin("c"));
  expect(possible(value)).toEqual(["b", "c"]);
});
