import { expect, test } from "vitest";
import { chooseColumns, fitColumns, isCards } from "./table-layout.ts";

const columns = [
  { id: "name", minWidth: 200, rank: 0, grow: 2 },
  { id: "status", minWidth: 100, rank: 1, grow: 0 },
  { id: "created", minWidth: 120, rank: 3 },
  { id: "used", minWidth: 120, rank: 2 },
  { id: "ranges", minWidth: 160, rank: 4, isHiddenByDefault: true },
];

test("shows the columns that fit, in order, and omits those with the highest rank", () => {
  expect([...fitColumns(columns, undefined, 700).keys()]).toEqual(["name", "status", "created", "used"]);
  expect([...fitColumns(columns, undefined, 539).keys()]).toHaveLength(4);
});

test("omits a column that doesn't fit and those of higher rank, even if a narrower one would fit", () => {
  const narrow = [
    ...columns.slice(0, 2),
    { id: "wide", minWidth: 300, rank: 2 },
    { id: "small", minWidth: 60, rank: 3 },
  ];
  expect([...fitColumns(narrow, undefined, 590).keys()]).toEqual(["name", "status"]);
});

test("distributes the remaining width", () => {
  const widths = fitColumns(columns, ["status"], 600);
  expect([...widths]).toEqual([
    ["name", 500],
    ["status", 100],
  ]);
  expect([...fitColumns(columns, undefined, 940).values()].reduce((sum, width) => sum + width)).toBe(940);
});

test("keeps the minimum width of each column, and always shows the first column", () => {
  for (let width = 0; width < 2_600; width += 7) {
    const widths = fitColumns(
      columns,
      columns.map(({ id }) => id),
      width,
    );
    expect(widths.has("name")).toBe(true);
    for (const { id, minWidth } of columns)
      expect(widths.get(id) ?? minWidth).toBeGreaterThanOrEqual(minWidth);
  }
});

test("omits a column that the user chose after all columns of the default", () => {
  const chosen = columns.map(({ id }) => id);
  expect([...fitColumns(columns, chosen, 580).keys()]).toEqual(["name", "status", "used", "ranges"]);
});

test("includes the first column in every choice of columns", () => {
  expect(chooseColumns(columns, []).map(({ id }) => id)).toEqual(["name"]);
  expect(chooseColumns(columns, ["ranges", "unknown"]).map(({ id }) => id)).toEqual(["name", "ranges"]);
});

test("switches to cards with all chosen columns below 560 px", () => {
  expect([isCards(559), isCards(560)]).toEqual([true, false]);
  expect(fitColumns(columns, undefined, 300).size).toBe(4);
});

test("omits columns beside actions in a table, however narrow the rest of it is", () => {
  expect(fitColumns(columns, undefined, 560, 60).size).toBeLessThan(4);
});
