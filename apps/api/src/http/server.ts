import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  ServerResponse,
} from "node:http";
import { type AddressInfo, type Socket, Server as TcpServer } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as delay, setImmediate as turn } from "node:timers/promises";
import { StartError } from "../start-error.ts";
import { answerMalformedHttp } from "./malformed-http.ts";

/** The address of a process: had at once, so that a taken port is known, and listened on when the app is ready. */
export interface HttpServer {
  readonly address: { readonly host: string; readonly port: number };
  /**
   * Listens, and hands all requests to the app.
   * @param baseUrl the instance's own address, for the errors of requests that never reach the app.
   * @throws {StartError} when the port was taken meanwhile.
   */
  readonly serve: (listener: RequestListener, baseUrl: string) => Promise<void>;
  /** Stops listening, takes its last requests and waits for those under way. */
  readonly close: (options: ClosingOptions) => Promise<void>;
}

export interface ClosingOptions {
  /** How long it goes on as ever, so that load balancers see that it is not ready and send it nothing new; in milliseconds. */
  readonly noticeMs?: number;
  /** How long requests under way may take after its last ones, in milliseconds. */
  readonly graceMs: number;
}

/** In milliseconds; a client that is slower than this is not answered. */
const limits = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 2_000,
};
const maxHeaderSize = 16 * 1024;
/** Longer than `keepAliveTimeout`, in milliseconds. */
const silenceTimeoutMs = 70_000;
/** A port that a process just left may take a moment to be free. */
const bindAttempts = 10;

/**
 * A stopping node goes on to take requests over the connections it has until none has come for so long, in milliseconds.
 * Who sends over a connection kept alive learns from the answer that it was the last; to close it at once would drop a
 * request that is on its way.
 */
const quietMs = 250;
/** But no longer than this. */
const lastRequestsMs = 2_000;
/** How many may have connected and wait to be taken. */
const backlog = 1_024;

/** @throws {StartError} when the port is taken or not allowed. */
export async function reserveAddress(host: string, port: number): Promise<HttpServer> {
  let current: RequestListener | undefined;
  let currentBaseUrl = "";
  let isClosing = false;
  let lastRequestAt = 0;
  /** Tells that it is the last of its connection, also where it was asked for before the node was told to stop. */
  class Response extends ServerResponse {
    override writeHead(...head: unknown[]): this {
      if (isClosing && isLast(this)) this.shouldKeepAlive = false;
      return super.writeHead(...(head as Parameters<ServerResponse["writeHead"]>)) as this; // One signature of several.
    }
  }
  const options = { ...limits, maxHeaderSize, requireHostHeader: false, ServerResponse: Response };
  const server = createServer(options, (req, res) => {
    if (isClosing) {
      lastRequestAt = performance.now();
      latest.set(req.socket, res);
    }
    if (limitPipelining(req, res)) return;
    closeOnUnreadBody(req, res);
    current?.(req, res);
  });
  // Whatever it expects, it gets the app's answer; Node's own would be an empty 417.
  server.on("checkExpectation", (req, res) => server.emit("request", req, res));
  const letGo = answerMalformedHttp(server, () => currentBaseUrl);
  let taken = 0;
  // Nothing is hung on the socket: a listener more on each costs a third of all requests (docs/decisions/0008).
  server.on("connection", () => {
    taken += 1;
  });
  // Nothing in, nothing out: a client that does not read its answer is let go.
  server.setTimeout(silenceTimeoutMs);
  await bind(server, host, port);
  const address = server.address() as AddressInfo; // It listens on TCP.
  // A load balancer that finds nobody goes to another node; an answer of a node that is not ready it would pass on.
  // A port of the system's choice is kept: nobody knows it yet, and another process could be given it.
  if (port !== 0) await stopListening(server);
  return {
    address: { host, port: address.port },
    async serve(listener, baseUrl) {
      current = listener;
      currentBaseUrl = baseUrl;
      if (!server.listening) await bind(server, host, address.port);
    },
    async close({ noticeMs = 0, graceMs }) {
      if (noticeMs > 0) await delay(noticeMs);
      await takeConnected(() => taken);
      isClosing = true;
      await close(server, { letGo, graceMs, lastRequestAt: () => lastRequestAt });
    },
  };
}

/** Requests that may wait on one connection for the answers before them; browsers and clients send one at a time. */
const maxPipelined = 32;
const pending = new WeakMap<Socket, number>();
/** The latest response of a connection, where it has waited behind another or came to a node that stops. */
const latest = new WeakMap<Socket, ServerResponse>();

/** Whether no request waits behind this one, whose answer would be lost if the connection ended with this one's. */
function isLast(res: ServerResponse): boolean {
  const last = latest.get(res.req.socket);
  return !last || last === res || last.writableFinished;
}

/** Ends a connection that asks for much more than it reads; whether it did. */
function limitPipelining({ socket }: IncomingMessage, res: ServerResponse): boolean {
  // Whose turn it is has the socket already: nothing waits before it, and there is nothing to count.
  if (res.socket) return false;
  const count = (pending.get(socket) ?? 0) + 1;
  pending.set(socket, count);
  latest.set(socket, res);
  res.once("close", () => pending.set(socket, (pending.get(socket) ?? 1) - 1));
  if (count > maxPipelined) socket.destroy();
  return count > maxPipelined;
}

/** How long a client may go on sending a body that nobody reads, in milliseconds. */
const lingerMs = 2_000;

/** Closes the connection after the response if the request's body was not read to its end: nobody reads what follows. */
function closeOnUnreadBody(req: IncomingMessage, res: ServerResponse): void {
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
 * Makes Node end its side of the connection after the response, and drop what the client still sends for a while, instead
 * of closing it. Closing a connection with unread data resets it, and a client that still sends loses the response.
 */
function closeGracefully(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end();
    const timer = setTimeout(() => socket.destroy(), lingerMs);
    socket.once("close", () => clearTimeout(timer));
  };
}

async function bind(server: Server, host: string, port: number): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const failure = await tryToBind(server, host, port);
    if (!failure) return;
    if (failure.code === "EADDRINUSE" && attempt < bindAttempts) await delay(100);
    else throw new StartError(explain(failure, host, port), { cause: failure });
  }
}

async function tryToBind(
  server: Server,
  host: string,
  port: number,
): Promise<NodeJS.ErrnoException | undefined> {
  server.listen({ host, port, backlog });
  return await once(server, "listening").then(
    () => undefined,
    (failure: NodeJS.ErrnoException) => failure,
  );
}

function explain(failure: NodeJS.ErrnoException, host: string, port: number): string {
  switch (failure.code) {
    case "EADDRINUSE":
      return `Port ${port} on ${host} is taken by another program; stop it, or set PORT to a free one.`;
    case "EACCES":
      return `Port ${port} may not be used by this user; set PORT to one above 1023.`;
    default:
      return `HOST ${host} cannot be listened on: ${failure.message}.`;
  }
}

/** Takes whoever has connected, for with the port goes what nobody has taken. A turn of the event loop takes one. */
async function takeConnected(count: () => number): Promise<void> {
  const until = performance.now() + lastRequestsMs;
  let taken = count();
  for (let turns = 0; turns < backlog && performance.now() < until; turns += 1) {
    // The first may be the end of one that has looked already.
    await turn();
    await turn();
    if (count() === taken) return;
    taken = count();
  }
}

async function close(
  server: Server,
  {
    letGo,
    graceMs,
    lastRequestAt,
  }: {
    readonly letGo: ReadonlySet<Duplex>;
    readonly graceMs: number;
    readonly lastRequestAt: () => number;
  },
): Promise<void> {
  const closed = stopListening(server);
  await untilQuiet(lastRequestAt);
  // For connections whose answer was begun before it could say that it was the last.
  server.keepAliveTimeout = 1;
  server.closeIdleConnections();
  const timer = setTimeout(() => {
    server.closeAllConnections();
    for (const socket of letGo) socket.destroy();
  }, graceMs);
  await closed;
  clearTimeout(timer);
}

async function untilQuiet(lastRequestAt: () => number): Promise<void> {
  const startedAt = performance.now();
  for (let quietFrom = startedAt; ; quietFrom = lastRequestAt()) {
    const until = Math.min(quietFrom + quietMs, startedAt + lastRequestsMs);
    const leftMs = until - performance.now();
    if (leftMs <= 0) return;
    await delay(leftMs);
    if (lastRequestAt() <= quietFrom) return;
  }
}

/** Takes no new connection; settles when those there are have ended. HTTP's own way ends the idle ones at once. */
function stopListening(server: Server): Promise<void> {
  return new Promise((resolve) => {
    TcpServer.prototype.close.call(server, () => resolve());
  });
}
