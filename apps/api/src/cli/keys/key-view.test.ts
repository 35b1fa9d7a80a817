import { expect, test } from "vitest";
import { formatFormerSecrets, formatStart } from "./key-view.ts";

test("secrets are named by their first characters, which some imported keys don't have", () => {
  const goodUntil = "2026-11-01T12:00:00.000Z";
  const formerSecrets = [
    { start: "acme_4fTq", goodUntil },
    { start: "", goodUntil },
  ];
  expect(formatStart("acme_4fTq")).toBe("acme_4fTq…");
  expect(formatFormerSecrets({ formerSecrets }).split("\n")).toEqual([
    expect.stringMatching(/^acme_4fTq… until 2026-11-01/),
    expect.stringMatching(/^unknown \(imported key\) until 2026-11-01/),
  ]);
  expect(formatFormerSecrets({ formerSecrets: [] })).toBe("none");
});
