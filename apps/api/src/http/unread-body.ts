import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** How long a client may keep sending a body that isn't read, in milliseconds. */
const lingerMs = 2_000;

/** Closes the connection after the response if the body of the request was not read to its end. */
export function closeOnUnreadBody(req: IncomingMessage, res: ServerResponse): void {
  if (req.headers["transfer-encoding"] === undefined && Number(req.headers["content-length"] ?? 0) === 0)
    return;
  const writeHead = res.writeHead;
  res.writeHead = ((...head: Parameters<typeof writeHead>) => {
    if (!req.complete) {
      res.shouldKeepAlive = false;
      closeGracefully(req.socket);
    }
    return writeHead.apply(res, head);
  }) as typeof writeHead; // One signature stands for the method's overloads.
}

/**
 * Makes Node end its side of the connection after the response, and discard what the client still sends for
 * {@link lingerMs}, instead of closing the connection. Closing a connection with unread data resets it, and a client
 * that still sends loses the response.
 */
function closeGracefully(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end();
    const timer = setTimeout(() => socket.destroy(), lingerMs);
    socket.once("close", () => clearTimeout(timer));
  };
}
