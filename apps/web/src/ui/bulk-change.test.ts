import { expect, test } from "vitest";
import { type BulkAction, type BulkItems, toChange } from "./bulk-change.ts";

const action: BulkAction<string> = {
  verb: "Disable",
  done: "disabled",
  consequence: "Their requests are rejected.",
  isDangerous: true,
  skipped: "already disabled",
  run: async () => undefined,
};
const keys: BulkItems<string> = {
  items: ["CI", "Nightly"],
  nameOf: (name) => name,
  nouns: ["key", "keys"],
  describe: () => "None of them has ever been used.",
  describeError: () => undefined,
  refresh: async () => undefined,
};

test("changes all items in one call, for which each of them waits", async () => {
  const calls: (readonly string[])[] = [];
  const { run: _run, ...words } = action as Extract<BulkAction<string>, { run: unknown }>;
  const { runs } = toChange(
    {
      ...words,
      runAll: async (items) => {
        calls.push(items);
        throw new Error("Unavailable");
      },
    },
    keys,
  );
  const results = await Promise.allSettled(runs.map((run) => run()));
  expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(calls).toEqual([["CI", "Nightly"]]);
});

test("tells the items that one call changed from those that were deleted before", async () => {
  const { run: _run, ...words } = action as Extract<BulkAction<string>, { run: unknown }>;
  const { runs } = toChange({ ...words, runAll: async () => ["Nightly"] }, keys);
  expect(await Promise.all(runs.map((run) => run()))).toEqual([{ isChanged: false }, { isChanged: true }]);
});

test.each([
  [0, "None of them has ever been used."],
  [1, "None of them has ever been used. 1 other selected key is already disabled."],
  [3, "None of them has ever been used. 3 other selected keys are already disabled."],
])("says that %i selected items are not changed", (count, description) => {
  expect(toChange(action, keys, count)).toMatchObject({ title: "Disable 2 keys", description });
});
