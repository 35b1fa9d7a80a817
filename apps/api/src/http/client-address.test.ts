import type { IncomingMessage } from "node:http";
import { createIpMatcher } from "@latchkey/auth/ip-ranges";
import { expect, test } from "vitest";
import { clientAddress } from "./client-address.ts";

const isTrusted = createIpMatcher(["10.0.0.0/8", "2001:db8::/32"]);

function from(remoteAddress: string | undefined, forwarded?: string): IncomingMessage {
  const headers = forwarded === undefined ? {} : { "x-forwarded-for": forwarded };
  return { socket: { remoteAddress }, headers } as unknown as IncomingMessage; // Only these fields are read.
}

test.each([
  ["the peer's without a proxy", "203.0.113.7", undefined, "203.0.113.7"],
  ["an IPv4 address, even on a dual-stack socket", "::ffff:203.0.113.7", undefined, "203.0.113.7"],
  ["the peer's if it isn't a trusted proxy, whatever it sends", "203.0.113.7", "198.51.100.1", "203.0.113.7"],
  ["an IPv6 address that maps no IPv4 address", "10.0.0.1", "::c000:216", "::c000:216"],
  ["the client of the trusted proxy", "10.0.0.1", "198.51.100.1", "198.51.100.1"],
  ["the client of the trusted proxy, over IPv6", "2001:db8::1", "2001:db9::7", "2001:db9::7"],
  [
    "the one before the outermost trusted proxy",
    "10.0.0.1",
    "192.0.2.1, 198.51.100.1,10.0.0.2",
    "198.51.100.1",
  ],
  ["not an address before the first untrusted hop", "10.0.0.1", "10.9.9.9, 198.51.100.1", "198.51.100.1"],
  ["the trusted proxy's if it sends no header", "10.0.0.1", undefined, "10.0.0.1"],
  [
    "unknown if its network interface has a name that none can have",
    "10.0.0.1",
    `fe80::1%${"e".repeat(60)}`,
    undefined,
  ],
  ["unknown if the trusted proxy sends an invalid address", "10.0.0.1", "198.51.100.1, unknown", undefined],
  ["the one with a port", "10.0.0.1", "198.51.100.1:443", "198.51.100.1"],
  ["the one with a port, for IPv6", "10.0.0.1", "[2001:db9::7]:443", "2001:db9::7"],
  [
    "the outermost trusted proxy's if all hops are trusted",
    "10.0.0.1",
    "10.0.0.3, ::ffff:10.0.0.2",
    "10.0.0.3",
  ],
])("is %s", (_who, remoteAddress, forwarded, address) => {
  expect(clientAddress(from(remoteAddress, forwarded), isTrusted)).toBe(address);
});

test.each([
  "::ffff:192.0.2.22",
  "::FFFF:192.0.2.22",
  "::ffff:c000:216",
  "[::FFFF:C000:0216]:443",
  "0::ffff:192.0.2.22",
  "0::ffff:c000:216",
  "0000::FFFF:192.0.2.22",
  "::0:ffff:192.0.2.22",
  "::0:0:0:0:ffff:c000:216",
  "0:0::ffff:192.0.2.22",
  "0:0::0:FFFF:c000:216",
  "0:0:0:0::ffff:192.0.2.22",
  "[0:0:0:0::ffff:c000:216]:443",
  "0:0:0:0:0:ffff:192.0.2.22",
  "0:0:0:0:0:ffff:c000:216",
  "0000:0000:0000:0000:0000:FFFF:C000:0216",
])("is an IPv4 address for %s", (address) => {
  expect(clientAddress(from("10.0.0.1", address), isTrusted)).toBe("192.0.2.22");
});

test.each([
  "::192.0.2.22",
  "::ffff:0:192.0.2.22",
  "::fffe:192.0.2.22",
  "::1:ffff:192.0.2.22",
  "0:0:0:1::ffff:c000:216",
  "0:ffff::192.0.2.22",
  "::ffff:192.0.2.22%eth0",
  "0::",
])("is the IPv6 address %s unchanged, because it maps no IPv4 address", (address) => {
  expect(clientAddress(from("10.0.0.1", address), isTrusted)).toBe(address);
});

test("is undefined after the connection has closed", () => {
  expect(clientAddress(from(undefined), isTrusted)).toBeUndefined();
});
