import { maxOutcomes } from "@latchkey/db/busiest-subjects";
import { expect, test } from "vitest";
import { outcomeMeanings } from "./keyspace-usage.ts";

test("the bound on the rows that are added up counts every outcome", () => {
  expect(outcomeMeanings.split("\n")).toHaveLength(maxOutcomes);
});
