import { expect, test } from "vitest";
import { isWholeNumber } from "./whole-number.ts";

const range = { min: 1, max: 500 };

test.each(["1", "500", " 500", "500 ", "\t007\n"])("accepts %j from 1 to 500", (text) => {
  expect(isWholeNumber(text, range)).toBe(true);
  expect(Number(text)).toBe(Number(text.trim()));
});

test.each(["", " ", "0", "501", "5 0", "1.5", "-1", "1e2", "0x1", "٣", "9".repeat(16)])(
  "rejects %j",
  (text) => {
    expect(isWholeNumber(text, range)).toBe(false);
  },
);
