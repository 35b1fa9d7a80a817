import { expect, test } from "vitest";
import { formatBytes } from "./format-bytes.ts";

test.each([
  [0, "0 byte"],
  [999, "999 byte"],
  [1_000, "1 kB"],
  [12_345_678, "12.3 MB"],
  [4_200_000_000, "4.2 GB"],
  [7_000_000_000_000_000, "7,000 TB"],
])("formats %d bytes as %s", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});
