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
  ["\n=1", `"'\n=1"`],
  ["\rx", `"'\rx"`],
  ['=HYPERLINK("https://example.com")', `"'=HYPERLINK(""https://example.com"")"`],
])("neutralizes the formula %j", (value, cell) => {
  expect(toCsvRow([value])).toBe(`${cell}\r\n`);
});

test("quotes all text except words, numbers and times", () => {
  const cells = ["a,b", 'say "hi"', "two\nlines", "a;=1+2", "a\t=1", "a b", "key.created", "7", "", null];
  const quoted = '"a,b","say ""hi""","two\nlines","a;=1+2","a\t=1","a b"';
  expect(toCsvRow(cells)).toBe(`${quoted},key.created,7,,\r\n`);
  expect(toCsvRow(["2026-03-01T00:00:00.000Z"])).toBe("2026-03-01T00:00:00.000Z\r\n");
});
