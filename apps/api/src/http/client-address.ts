import type { IncomingMessage } from "node:http";

/** Where a request comes from, as this node sees it; an IPv4 address as such, also on a socket that takes both. */
export function clientAddress(req: IncomingMessage): string | null {
  return req.socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/, "") ?? null;
}
