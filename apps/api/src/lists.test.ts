import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { readPage, toPage } from "./lists.ts";

const presentation = { present: ({ id }: { id: string }) => id, idOf: ({ id }: { id: string }) => id };

/** The cursor of a page that ends at a position. */
function cursorAfter(sort: string, position: string, id: string = randomUUID()): string {
  const rows = [
    { id, position },
    { id: randomUUID(), position },
  ];
  const { nextCursor } = toPage(rows, { sort, limit: 1 }, presentation);
  if (nextCursor === null) throw new Error("The page has a next one.");
  return nextCursor;
}

test.each([
  ["name", "Zoë"],
  ["createdAt", "1753790400123456"],
  ["-createdAt", "-1"],
  ["createdAt", "-62135596800000000"],
  ["-expiresAt", "253402300799999999"],
  ["memberCount", "0"],
  ["-keyCount", "9007199254740991"],
])("a cursor continues a list sorted by %s after %s", (sort, value) => {
  const id = randomUUID();
  const page = readPage({ sort, limit: 10, cursor: cursorAfter(sort, value, id) });
  expect(page.after).toEqual({ value, id });
});

test.each([
  ["createdAt", "yesterday"],
  ["createdAt", "-62135596800000001"],
  ["-expiresAt", "253402300800000000"],
  ["occurredAt", "-999999999999999999"],
  ["memberCount", "many"],
  ["-memberCount", ""],
  ["memberCount", "1.5"],
  ["keyCount", "1e3"],
  ["keyCount", "1234567890123456789"], // Longer than any count.
])("rejects a cursor of a list sorted by %s with the value “%s”", (sort, value) => {
  expect(() => readPage({ sort, limit: 10, cursor: cursorAfter(sort, value) })).toThrowError(
    expect.objectContaining({ code: "BAD_REQUEST" }),
  );
});

test("rejects the cursor of another order", () => {
  const cursor = cursorAfter("memberCount", "3");
  for (const sort of ["-memberCount", "keyCount", "name"])
    expect(() => readPage({ sort, limit: 10, cursor })).toThrowError(
      expect.objectContaining({ code: "BAD_REQUEST" }),
    );
});
