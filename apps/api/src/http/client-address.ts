import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";

/**
 * Where a request comes from: what connects to this node, or, where that is a proxy that we trust, what that one says
 * connected to it, and so on. What stands in `X-Forwarded-For` before the first address that we do not trust may have
 * been written by anybody, and is not read. An IPv4 address is named as such, also on a socket that takes both.
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
    const before = withoutMapping(hop.trim());
    if (before === undefined || isIP(before) === 0) return address;
    address = before;
    if (!isTrustedProxy(before)) return before;
  }
  return address;
}

function withoutMapping(address: string | undefined): string | undefined {
  return address?.replace(/^::ffff:(?=\d+\.)/i, "");
}
