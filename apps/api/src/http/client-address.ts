import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { parseIpAddress } from "@latchkey/auth/ip-ranges";
import { maxLength } from "@latchkey/limits";

/**
 * Returns the IP address of the client. Starts with the peer of the connection. As long as the address belongs to a
 * trusted proxy, continues with the address that this proxy added to `X-Forwarded-For`, from right to left. Entries
 * before the first untrusted address aren't read, because anyone can have written them. An IPv4-mapped IPv6 address is
 * returned as an IPv4 address.
 * @returns undefined if the connection has ended, or if a trusted proxy added something other than an address: the
 * proxy's own address must not be used instead.
 */
export function clientAddress(
  req: IncomingMessage,
  isTrustedProxy: (ipAddress: string) => boolean,
): string | undefined {
  let address = unmapIpv4(req.socket.remoteAddress);
  if (address === undefined || !isTrustedProxy(address)) return address;
  const forwarded = req.headers["x-forwarded-for"];
  if (typeof forwarded !== "string") return address;
  for (const hop of forwarded.split(",").reverse()) {
    const hopAddress = unmapIpv4(withoutPort(hop.trim()));
    if (hopAddress === undefined || !isAddress(hopAddress)) return undefined;
    address = hopAddress;
    if (!isTrustedProxy(hopAddress)) return hopAddress;
  }
  return address;
}

/** The name of a network interface, as in `fe80::1%eth0`, can have any length. */
function isAddress(text: string): boolean {
  return text.length <= maxLength.ipAddress && isIP(text) !== 0;
}

/** Some proxies add the port: `203.0.113.7:443` and `[2001:db8::7]:443`. */
function withoutPort(hop: string): string {
  const [, ipv4, ipv6] = /^(?:(\d+(?:\.\d+){3}):\d+|\[([^\]]+)\](?::\d+)?)$/.exec(hop) ?? [];
  return ipv4 ?? ipv6 ?? hop;
}

/** Returns the IPv4 address of an IPv4-mapped IPv6 address; returns any other text unchanged. */
export function unmapIpv4<Address extends string | undefined>(address: Address): string | Address {
  // Few addresses begin with `:` or `0`. All others need no parsing.
  return address?.startsWith(":") || address?.startsWith("0") ? readMapping(address) : address;
}

/**
 * Returns the IPv4 address of an IPv4-mapped IPv6 address, which is one in `::ffff:0:0/96`; returns any other text unchanged.
 * Compares the parsed groups, because an address has many notations: `::ffff:192.0.2.22`, `0::FFFF:c000:216` and
 * `0:0:0:0:0:ffff:c000:0216` are the same.
 * @see https://www.rfc-editor.org/rfc/rfc4291#section-2.5.5.2
 */
function readMapping(address: string): string {
  const groups = parseIpAddress(address);
  if (groups?.length !== 8 || groups[5] !== 0xffff || groups.slice(0, 5).some((group) => group !== 0))
    return address;
  return groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 255])
    .join(".");
}
