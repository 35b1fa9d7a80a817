import { BlockList } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { areContained, createIpMatcher, isIpRange } from "./ip-ranges.ts";

test.each([
  "10.0.0.0/8",
  "192.0.2.7",
  "0.0.0.0/0",
  "10.1.2.3/24",
  "2001:db8::/32",
  "::1",
  "::/0",
  "::ffff:10.0.0.1/128",
])("%s is an IP range", (text) => {
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
])("%j is not an IP range", (text) => {
  expect(isIpRange(text)).toBe(false);
});

test.each([
  ["10.0.0.0/8", "10.255.255.255", "11.0.0.0"],
  ["10.1.2.3/24", "10.1.2.255", "10.1.3.0"],
  ["192.0.2.7", "192.0.2.7", "192.0.2.8"],
  ["2001:db8::/32", "2001:db8:ffff::1", "2001:db9::1"],
  ["2001:db8::6/127", "2001:db8::7", "2001:db8::8"],
  ["::5/113", "::9", "::8005"],
  ["0.0.0.0/0", "203.0.113.9", "::1"],
  ["::/0", "2001:db8::1", "203.0.113.9"],
  ["2001:db8::/32", "2001:db8::1", "2001:db8::1%eth0"],
  ["0.0.0.0/0", "203.0.113.9", "not an address"],
])("%s contains %s and not %s", (range, included, excluded) => {
  const matches = createIpMatcher([range]);
  expect(matches(included)).toBe(true);
  expect(matches(excluded)).toBe(false);
});

test("matches several ranges of both families, and ignores text that is not a range", () => {
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
  // The outer range contains the first address of the inner one.
  ["10.0.0.0/16", "10.0.0.0/8", false],
  ["10.0.0.0/8", "11.0.0.1", false],
  ["::/0", "10.0.0.1", false],
  ["0.0.0.0/0", "::1", false],
  ["nonsense", "10.0.0.1", false],
  ["10.0.0.0/8", "nonsense", false],
  ["2001:db8::/32", "2001:db8:1::/48", true],
])("%s contains the range %s: %s", (outer, inner, expected) => {
  expect(areContained([outer], [inner])).toBe(expected);
});

test("each of several ranges must be in one of several others", () => {
  const outer = ["10.0.0.0/8", "192.0.2.0/24", "2001:db8::/32"];
  expect(areContained(outer, ["10.1.0.0/16", "192.0.2.7", "2001:db8::1"])).toBe(true);
  expect(areContained(outer, ["10.1.0.0/16", "192.0.3.7"])).toBe(false);
  expect(areContained(outer, [])).toBe(true);
});

const groups = fc.array(fc.constantFrom(0, 1, 0x7fff, 0xffff), { minLength: 8, maxLength: 8 });

/** Addresses of which many are equal in their first bits, in every notation. */
const ipv6 = fc.tuple(groups, fc.boolean(), fc.boolean(), fc.boolean()).map(([all, ...form]) => {
  const [isMixed, isUpperCase, isShort] = form;
  const [g, h] = all.slice(6) as [number, number]; // Eight groups.
  const hex = all.map((group) => group.toString(16));
  const mixed = [...hex.slice(0, 6), [g >> 8, g & 255, h >> 8, h & 255].join(".")];
  const long = (isMixed ? mixed : hex).join(":");
  // The first run of zeros, which may be at the start or at the end.
  const text = isShort ? long.replace(/(?:^|:)0(?::0)+(?::|$)/, "::") : long;
  return isUpperCase ? text.toUpperCase() : text;
});
const ipv4 = fc
  .array(fc.constantFrom(0, 1, 127, 128, 255), { minLength: 4, maxLength: 4 })
  .map((bytes) => bytes.join("."));

test.each([
  ["ipv4", ipv4, 32],
  ["ipv6", ipv6, 128],
] as const)("compares any %s address as Node's BlockList does", (family, anyAddress, maxPrefix) => {
  const range = fc.tuple(anyAddress, fc.integer({ min: 0, max: maxPrefix }));
  fc.assert(
    fc.property(fc.array(range, { maxLength: 3 }), anyAddress, (ranges, address) => {
      const list = new BlockList();
      for (const [network, prefix] of ranges) list.addSubnet(network, prefix, family);
      const texts = ranges.map((parts) => parts.join("/"));
      expect(texts.every(isIpRange)).toBe(true);
      expect(createIpMatcher(texts)(address)).toBe(list.check(address, family));
    }),
    { numRuns: 2_000 },
  );
});

test("an IPv4-mapped address is an IPv6 address", () => {
  expect(createIpMatcher(["10.0.0.0/8"])("::ffff:10.0.0.1")).toBe(false);
  expect(createIpMatcher(["::ffff:0:0/96"])("10.0.0.1")).toBe(false);
  expect(createIpMatcher(["::ffff:10.0.0.0/104"])("::FFFF:a00:1")).toBe(true);
});
