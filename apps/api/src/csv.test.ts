import { expect, test } from "vitest";
import { toCsvRow } from "./csv.ts";

test.each([
  ["=1+2", "'=1+2"],
  ["+49 30", "'+49 30"],
  ["-2", "'-2"],
  ["@SUM(A1)", "'@SUM(A1)"],
  ["\tx", "'\tx"],
  ["\rx", `"'\rx"`],
  ['=HYPERLINK("https://example.com")', `"'=HYPERLINK(""https://example.com"")"`],
])("neutralizes the formula %j", (value, cell) => {
  expect(toCsvRow([value])).toBe(`${cell}\r\n`);
});

test("quotes commas, quotation marks and line breaks, and leaves other text as it is", () => {
  const cells = ["a,b", 'say "hi"', "two\nlines", "plain = text", "", null];
  expect(toCsvRow(cells)).toBe('"a,b","say ""hi""","two\nlines",plain = text,,\r\n');
});
