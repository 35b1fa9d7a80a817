import { expect, test } from "vitest";
import { locateRejected } from "./locate-rejected.ts";
import type { KeyFileFormat } from "./read-key-file.ts";

function locate(path: string, format: KeyFileFormat, fields: object = {}) {
  const rows = [
    { line: 2, content: { hash: "a" } },
    { line: 7, content: { hash: "b", ...fields } },
  ];
  return locateRejected([{ line: 7, path, message: "is wrong" }], rows, format)[0];
}

test.each([
  ["a text", "name", {}, "name", "is wrong"],
  ["a number of credits", "credits.remaining", { credits: { remaining: -5 } }, "credits", "is wrong"],
  ["credits without a balance", "credits.remaining", { credits: {} }, "credits", "remaining: is wrong"],
  [
    "a refill",
    "credits.refill.amount",
    { credits: { remaining: 5, refill: {} } },
    "credits",
    "refill, amount: is wrong",
  ],
  [
    "a balance beside a refill",
    "credits.remaining",
    { credits: { remaining: -5, refill: {} } },
    "credits",
    "remaining: is wrong",
  ],
  ["credits that are a text", "credits", { credits: "abc" }, "credits", "is wrong"],
  ["an item of a list", "permissions.1", { permissions: ["a", "*b"] }, "permissions", "item 2: is wrong"],
  ["JSON", "limits.0.quota", { limits: [{}] }, "limits", "item 1, quota: is wrong"],
  ["a whole row", "", {}, "", "is wrong"],
])("names the column of CSV for %s", (_what, path, fields, column, message) => {
  expect(locate(path, "csv", fields)).toEqual({ line: 7, path: column, message });
});

test.each(["credits.remaining", "permissions.1", "limits.0.quota", ""])(
  "keeps the path %j of NDJSON",
  (path) => {
    const fields = { credits: { remaining: -5 } };
    expect(locate(path, "ndjson", fields)).toEqual({ line: 7, path, message: "is wrong" });
  },
);
