import type { IncomingMessage } from "node:http";
import { createIpMatcher } from "@latchkey/auth/ip-ranges";
import { expect, test } from "vitest";
import { clientAddress } from "./client-address.ts";

const isTrusted = createIpMatcher(["10.0.0.0/8", "2001:db8::/32"]);

function from(remoteAddress: string | undefined, forwarded?: string): IncomingMessage {
  const headers = forwarded === undefined ? {} : { "x-forwarded-for": forwarded };
  return { socket: { remoteAddress }, headers } as unknown as IncomingMessage; // All that is read of it.
}

test.each([
  ["whoever connects", "203.0.113.7", undefined, "203.0.113.7"],
  ["an IPv4 client, also on a socket that takes IPv6 too", "::ffff:203.0.113.7", undefined, "203.0.113.7"],
  [
    "whoever connects and is no proxy of ours, whatever they say",
    "203.0.113.7",
    "198.51.100.1",
    "203.0.113.7",
  ],
  ["an IPv6 client whose address maps none", "10.0.0.1", "::c000:216", "::c000:216"],
  ["whoever connected to our proxy", "10.0.0.1", "198.51.100.1", "198.51.100.1"],
  ["whoever connected to our proxy, over IPv6", "2001:db8::1", "2001:db9::7", "2001:db9::7"],
  ["the one before the last proxy of ours", "10.0.0.1", "192.0.2.1, 198.51.100.1,10.0.0.2", "198.51.100.1"],
  [
    "not what somebody wrote before the first that we do not trust",
    "10.0.0.1",
    "10.9.9.9, 198.51.100.1",
    "198.51.100.1",
  ],
  ["our proxy, where it says nothing", "10.0.0.1", undefined, "10.0.0.1"],
  ["nobody's, where our proxy says what is no address", "10.0.0.1", "198.51.100.1, unknown", undefined],
  ["the one with a port", "10.0.0.1", "198.51.100.1:443", "198.51.100.1"],
  ["the one with a port, over IPv6", "10.0.0.1", "[2001:db9::7]:443", "2001:db9::7"],
  [
    "the outermost proxy of ours, where nobody else was on the way",
    "10.0.0.1",
    "10.0.0.3, ::ffff:10.0.0.2",
    "10.0.0.3",
  ],
])("is %s", (_who, remoteAddress, forwarded, address) => {
  expect(clientAddress(from(remoteAddress, forwarded), isTrusted)).toBe(address);
});

test.each(["::ffff:c000:216", "[::FFFF:c000:0216]:443", "0:0:0:0:0:ffff:c000:216", "::0:ffff:192.0.2.22"])(
  "is an IPv4 address for %s",
  (hop) => {
    expect(clientAddress(from("10.0.0.1", hop), isTrusted)).toBe("192.0.2.22");
  },
);

test("is nobody's once the connection is gone", () => {
  expect(clientAddress(from(undefined), isTrusted)).toBeUndefined();
});
