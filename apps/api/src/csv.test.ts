import { expect, test } from "vitest";
import { toCsvRow } from "./csv.ts";

test.each([
  ["=1+2", `"'=1+2"`],
  ["+49 30", `"'+49 30"`],
  ["-2", `"'-2"`],
  ["@SUM(A1)", `"'@SUM(A1)"`],
  ["＝1+2", `"'＝1+2"`],
  ["＋1", `"'＋1"`],
  ["－1", `"'－1"`],
  ["＠SUM(A1)", `"'＠SUM(A1)"`],
  ["\tx", `"'\tx"`],
  ["\n=1", `"'\n'=1"`],
  ["\rx", `"'\rx"`],
  [" =1", `"' =1"`],
  ["x;=1+1;y", `"x;'=1+1;y"`],
  ["x; \u0020-1", `"x;' \u0020-1"`],
  ['x;"=1+1"', `"x;'""=1+1"""`],
  ["x\t+1", `"x\t'+1"`],
  ["x|@SUM(A1)", `"x|'@SUM(A1)"`],
  ["x\n＝1", `"x\n'＝1"`],
  ["x\r－1;＋1", `"x\r'－1;'＋1"`],
  ['=HYPERLINK("https://example.com")', `"'=HYPERLINK(""https://example.com"")"`],
])("neutralizes the formula %j", (value, cell) => {
  expect(toCsvRow([value])).toBe(`${cell}\r\n`);
});

test("leaves separators that no formula follows unchanged", () => {
  expect(toCsvRow(["a;b|c\td\ne=1;"])).toBe('"a;b|c\td\ne=1;"\r\n');
});

test("keeps JSON with a formula after a separator valid", () => {
  const row = toCsvRow([JSON.stringify({ name: "x;=1", note: "\n=2" })]);
  const json = row.trim().slice(1, -1).replaceAll('""', '"');
  expect(JSON.parse(json)).toEqual({ name: "x;'=1", note: "\n=2" });
});

test("quotes all text except words, numbers and times", () => {
  const cells = ["a,b", 'say "hi"', "two\nlines", "a;1+2", "a\t1", "a b", "key.created", "7", "", null];
  const quoted = '"a,b","say ""hi""","two\nlines","a;1+2","a\t1","a b"';
  expect(toCsvRow(cells)).toBe(`${quoted},key.created,7,,\r\n`);
  expect(toCsvRow(["2026-03-01T00:00:00.000Z"])).toBe("2026-03-01T00:00:00.000Z\r\n");
});
