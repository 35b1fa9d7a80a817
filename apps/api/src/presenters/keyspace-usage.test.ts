import { maxOutcomes } from "@latchkey/db/busiest-subjects";
import { expect, test } from "vitest";
import { outcomeMeanings } from "./keyspace-usage.ts";

test("the rows that the busiest subjects add up are bounded by the number of outcomes", () => {
  expect(outcomeMeanings.split("\n")).toHaveLength(maxOutcomes);
});
