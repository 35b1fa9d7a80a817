import { expect, test } from "vitest";
import { describeInvalidRanges, isLikeIpRange } from "./ip-range-lines.ts";

test.each(["203.0.113.7", "10.0.0.0/8", "0.0.0.0/0", "2001:db8::/32", "::1", "::ffff:192.0.2.1", "::/0"])(
  "accepts the IP address or range %s",
  (text) => {
    expect(isLikeIpRange(text)).toBe(true);
  },
);

test.each([
  "",
  "nowhere",
  "203.0.113",
  "203.0.113.256",
  "203.0.113.07",
  "10.0.0.0/33",
  "10.0.0.0/",
  "10.0.0.0/8/8",
  "2001:db8::/129",
  "2001:db8:::1",
  "[::1]",
  "fe80::1%eth0",
])("rejects %j", (text) => {
  expect(isLikeIpRange(text)).toBe(false);
});

test("lists invalid entries with their line numbers", () => {
  expect(describeInvalidRanges("")).toBeNull();
  expect(describeInvalidRanges("10.0.0.0/8\n\n::1, 192.0.2.1")).toBeNull();
  expect(describeInvalidRanges("10.0.0.0/8\nnowhere\n::1 10.0.0.0/99")).toBe(
    "Not an IP address or range: line 2 (nowhere), line 3 (10.0.0.0/99). Enter one per line, for example 203.0.113.0/24.",
  );
  expect(describeInvalidRanges("a\nb\nc\nd\ne\nf\ng")).toContain("line 5 (e), 2 more.");
});

test("ignores the last line while the user is typing", () => {
  expect(describeInvalidRanges("203.0.", { isTyping: true })).toBeNull();
  expect(describeInvalidRanges("203.0.\n10.", { isTyping: true })).toContain("line 1 (203.0.).");
});
