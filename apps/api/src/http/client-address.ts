import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";

/**
 * Where a request comes from: what connects to this node, or, where that is a proxy that we trust, what that one says
 * connected to it, and so on. What stands in `X-Forwarded-For` before the first address that we do not trust may have
 * been written by anybody, and is not read. An IPv4 address is named as such, also on a socket that takes both.
 * @returns undefined where a proxy of ours says what nobody can read: that must not count as its own address.
 */
export function clientAddress(
  req: IncomingMessage,
  isTrustedProxy: (address: string) => boolean,
): string | undefined {
  let address = withoutMapping(req.socket.remoteAddress);
  if (address === undefined || !isTrustedProxy(address)) return address;
  const forwarded = req.headers["x-forwarded-for"];
  if (typeof forwarded !== "string") return address;
  for (const hop of forwarded.split(",").reverse()) {
    const before = withoutMapping(withoutPort(hop.trim()));
    if (before === undefined || isIP(before) === 0) return undefined;
    address = before;
    if (!isTrustedProxy(before)) return before;
  }
  return address;
}

/** Some proxies write `203.0.113.7:443` and `[2001:db8::7]:443`. */
function withoutPort(hop: string): string {
  const [, ipv4, ipv6] = /^(?:(\d+(?:\.\d+){3}):\d+|\[([^\]]+)\](?::\d+)?)$/.exec(hop) ?? [];
  return ipv4 ?? ipv6 ?? hop;
}

function withoutMapping(address: string | undefined): string | undefined {
  // Addresses that don't begin with a zero, which is nearly all of them, cost no more than this.
  return address?.startsWith(":") || address?.startsWith("0") ? readMapping(address) : address;
}

/**
 * The IPv4 address that an IPv6 address maps, in any of its spellings, such as `::ffff:192.0.2.22`, `::ffff:c000:216` and
 * `0:0:0:0:0:ffff:c000:0216`; any other text as it is.
 * @see https://www.rfc-editor.org/rfc/rfc4291#section-2.5.5.2
 */
function readMapping(address: string): string {
  const text = address.replace(/^(?:0{1,4}:){5}|^::(?:0{1,4}:){0,4}(?=ffff:)/i, "::");
  const [, dotted, high = "", low = ""] =
    /^::ffff:(?:(\d+(?:\.\d+){3})|([\da-f]{1,4}):([\da-f]{1,4}))$/i.exec(text) ?? [];
  if (dotted !== undefined) return dotted;
  if (high === "" || isIP(address) !== 6) return address;
  const bits = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return bits.flatMap((part) => [part >> 8, part & 255]).join(".");
}
