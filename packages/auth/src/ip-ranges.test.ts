import { expect, test } from "vitest";
import { containsIpRange, createIpMatcher, isIpRange } from "./ip-ranges.ts";

test.each([
  "10.0.0.0/8",
  "192.0.2.7",
  "0.0.0.0/0",
  "10.1.2.3/24",
  "2001:db8::/32",
  "::1",
  "::/0",
  "::ffff:10.0.0.1/128",
])("%s is a range", (text) => {
  expect(isIpRange(text)).toBe(true);
});

test.each([
  "",
  "10.0.0.0/33",
  "10.0.0/8",
  "10.0.0.0/",
  "10.0.0.0/08",
  "10.0.0.0/-1",
  "10.0.0.0/8/8",
  "::/129",
  "fe80::1%eth0",
  "localhost",
  "010.0.0.1",
  " 10.0.0.1",
])("%j is none", (text) => {
  expect(isIpRange(text)).toBe(false);
});

test.each([
  ["10.0.0.0/8", "10.255.255.255", "11.0.0.0"],
  ["10.1.2.3/24", "10.1.2.255", "10.1.3.0"],
  ["192.0.2.7", "192.0.2.7", "192.0.2.8"],
  ["2001:db8::/32", "2001:db8:ffff::1", "2001:db9::1"],
  ["0.0.0.0/0", "203.0.113.9", "::1"],
  ["::/0", "2001:db8::1", "203.0.113.9"],
  ["2001:db8::/32", "2001:db8::1", "2001:db8::1%eth0"],
  ["0.0.0.0/0", "203.0.113.9", "not an address"],
])("%s has %s and not %s", (range, within, without) => {
  const matches = createIpMatcher([range]);
  expect(matches(within)).toBe(true);
  expect(matches(without)).toBe(false);
});

test("an address is in one of several ranges of either family, and text that is no range is skipped", () => {
  const matches = createIpMatcher(["10.0.0.0/8", "nonsense", "2001:db8::/32", "192.0.2.7", "::1"]);
  const addresses = [
    "10.1.2.3",
    "2001:db8::1",
    "192.0.2.7",
    "::1",
    "192.0.2.8",
    "::2",
    "nonsense",
    "10.1.2.3",
  ];
  expect(addresses.map(matches)).toEqual([true, true, true, true, false, false, false, true]);
});

test.each([
  ["10.0.0.0/8", "10.1.0.0/16", true],
  ["10.0.0.0/8", "10.0.0.0/8", true],
  ["10.1.0.0/16", "10.0.0.0/8", false],
  // The first address of the inner range is in the outer one.
  ["10.0.0.0/16", "10.0.0.0/8", false],
  ["10.0.0.0/8", "11.0.0.1", false],
  ["::/0", "10.0.0.1", false],
  ["0.0.0.0/0", "::1", false],
  ["nonsense", "10.0.0.1", false],
  ["10.0.0.0/8", "nonsense", false],
  ["2001:db8::/32", "2001:db8:1::/48", true],
])("whether %s holds %s: %s", (outer, inner, is) => {
  expect(containsIpRange(outer, inner)).toBe(is);
});
