import { expect, test } from "vitest";
import { UncertainValue } from "./uncertain-value.ts";

const possible = (value: UncertainValue<string>): string[] => [...value.possible].sort();

test("a change may have taken effect after its beginning, and has after its acknowledgment", () => {
  const value = new UncertainValue("a");
  const change = value.begin("b");
  expect(possible(value)).toEqual(["a", "b"]);
  value.acknowledge(change);
  expect(possible(value)).toEqual(["b"]);
});

test("a change that was rejected never took effect", () => {
  const value = new UncertainValue("a");
  value.cancel(value.begin("b"));
  expect(possible(value)).toEqual(["a"]);
});

test("either of two concurrent changes may be the last", () => {
  const value = new UncertainValue("a");
  const [first, second] = [value.begin("b"), value.begin("c")];
  value.acknowledge(first);
  expect(possible(value)).toEqual(["b", "c"]);
  value.acknowledge(second);
  expect(possible(value)).toEqual(["b", "c"]);
  value.acknowledge(value.begin("d"));
  expect(possible(value)).toEqual(["d"]);
});

test("after changes during a longer one, the value is that of the last or of the longer one", () => {
  const value = new UncertainValue("a");
  const long = value.begin("long");
  value.acknowledge(value.begin("b"));
  value.acknowledge(value.begin("c"));
  expect(possible(value)).toEqual(["c", "long"]);
  value.acknowledge(long);
  expect(possible(value)).toEqual(["c", "long"]);
});

test("a change that is never acknowledged may take effect at any later time", () => {
  const value = new UncertainValue("a");
  value.begin("b");
  value.acknowledge(value.begin("c"));
  expect(possible(value)).toEqual(["b", "c"]);
});
