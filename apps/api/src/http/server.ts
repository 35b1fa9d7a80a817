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
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { StartError } from "../start-error.ts";
import { answerMalformedHttp } from "./malformed-http.ts";
import { closeOnUnreadBody } from "./unread-body.ts";
import { limitUnsentResponses } from "./unsent-responses.ts";

/**
 * An HTTP server that binds its address before the app is loaded, so that a port in use is reported early, and that
 * listens when the app is ready.
 */
export interface HttpServer {
  readonly address: { readonly host: string; readonly port: number };
  /**
   * Listens, and passes all requests to the app.
   * @param baseUrl the base URL of the instance, for the errors of requests that never reach the app.
   * @throws {StartError} if another process has taken the port since it was reserved.
   */
  readonly serve: (listener: RequestListener, baseUrl: string) => Promise<void>;
  /** Stops listening, accepts the last requests and waits for all requests in progress. */
  readonly close: (options: ClosingOptions) => Promise<void>;
}

export interface ClosingOptions {
  /**
   * How long the server continues to listen, in milliseconds, so that load balancers notice that the node isn't ready
   * and stop sending requests to it.
   */
  readonly noticeMs?: number;
  /** How long requests in progress may take after the last request was accepted, in milliseconds. */
  readonly graceMs: number;
}

/** In milliseconds. The connection of a slower client is closed. */
const timeouts = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 2_000,
};
const maxHeaderSize = 16 * 1024;
/** How long a connection may have no traffic, in milliseconds. Longer than `keepAliveTimeout`. */
const inactivityTimeoutMs = 70_000;
/** A port may stay in use for a moment after its process has exited. */
const bindAttempts = 10;

/**
 * A closing server accepts requests on its open connections until none has arrived for this long, in milliseconds. Each
 * response has `Connection: close`. Closing idle connections immediately would drop requests that are in transit.
 */
const quietPeriodMs = 250;
/** The limit for accepting the backlog, and again for waiting for the quiet period, in milliseconds. */
const maxClosingStepMs = 2_000;
/** How many connections may wait to be accepted. */
const backlog = 1_024;

/** @throws {StartError} if the port is in use or not allowed. */
export async function reserveAddress(host: string, port: number): Promise<HttpServer> {
  let currentListener: RequestListener | undefined;
  let currentBaseUrl = "";
  let isClosing = false;
  let lastRequestAt = 0;
  const limitUnsent = limitUnsentResponses();
  class Response extends ServerResponse {
    /**
     * Sends `Connection: close` with the last response of a connection, even if its request arrived before the
     * closing.
     */
    override writeHead(...head: unknown[]): this {
      if (isClosing && isLastResponse(this)) this.shouldKeepAlive = false;
      if (!this.shouldKeepAlive) endingSockets.add(this.req.socket);
      return super.writeHead(...(head as Parameters<ServerResponse["writeHead"]>)) as this; // One of several overloads.
    }
    override write(...data: unknown[]): boolean {
      const acceptsMore = super.write(...(data as Parameters<ServerResponse["write"]>)); // One of several overloads.
      if (!acceptsMore) limitUnsent(this);
      return acceptsMore;
    }
    override end(...data: unknown[]): this {
      super.end(...(data as Parameters<ServerResponse["end"]>)); // One of several overloads.
      // The system's buffers accept nearly every response as a whole, so that most requests pay only for this comparison.
      if (this.writableLength > 0) limitUnsent(this);
      return this;
    }
  }
  const options = { ...timeouts, maxHeaderSize, requireHostHeader: false, ServerResponse: Response };
  const server = createServer(options, (req, res) => {
    // Also counts requests that can't be answered, because Node keeps them until the connection ends.
    if (limitPipelining(req, res)) return;
    if (!canBeAnswered(req, res)) {
      req.resume();
      return;
    }
    if (isClosing) {
      lastRequestAt = performance.now();
      latestResponses.set(req.socket, res);
    }
    closeOnUnreadBody(req, res);
    currentListener?.(req, res);
  });
  // The app handles requests with an unknown `Expect` header. Node's default is an empty 417 response.
  server.on("checkExpectation", (req, res) => server.emit("request", req, res));
  const detachedSockets = answerMalformedHttp(server, () => currentBaseUrl);
  let acceptedCount = 0;
  // Adds no listener to the sockets: one more on each reduces throughput by a third (docs/decisions/0008).
  server.on("connection", () => {
    acceptedCount += 1;
  });
  // Disconnects clients that neither send nor read.
  server.setTimeout(inactivityTimeoutMs);
  await bind(server, host, port);
  const address = server.address() as AddressInfo; // The server listens on TCP.
  // A load balancer tries another node if the connection is refused, but forwards the responses of a node that
  // isn't ready.
  // A port that the system chose stays bound: no client knows it yet, and the system could give it to another
  // process.
  if (port !== 0) await stopListening(server);
  return {
    address: { host, port: address.port },
    async serve(listener, baseUrl) {
      currentListener = listener;
      currentBaseUrl = baseUrl;
      if (!server.listening) await bind(server, host, address.port);
    },
    async close({ noticeMs = 0, graceMs }) {
      if (noticeMs > 0) await delay(noticeMs);
      await acceptBacklog(() => acceptedCount);
      isClosing = true;
      await close(server, { detachedSockets, graceMs, lastRequestAt: () => lastRequestAt });
    },
  };
}

/** The connections that Node ends after a response whose headers were written. */
const endingSockets = new WeakSet<Socket>();

/**
 * Whether the response to a request can be sent. Node also reads the requests behind one whose response has `Connection: close`. A
 * client sends them again on another connection, so that handling them would make their changes twice.
 * @see https://www.rfc-editor.org/rfc/rfc9112#section-9.6
 */
function canBeAnswered({ socket }: IncomingMessage, res: ServerResponse): boolean {
  return socket.writable && (res.socket !== null || !endingSockets.has(socket));
}

/** How many requests may wait on one connection for earlier responses. Browsers and clients send one at a time. */
const maxPipelined = 32;
const queuedCounts = new WeakMap<Socket, number>();
/**
 * The latest response of a connection, if it had to wait for another one or its request arrived during the closing.
 */
const latestResponses = new WeakMap<Socket, ServerResponse>();

/**
 * Whether no later request waits on the connection. Its response would be lost if the connection ended after this
 * one.
 */
function isLastResponse(res: ServerResponse): boolean {
  const last = latestResponses.get(res.req.socket);
  return !last || last === res || last.writableFinished;
}

/** Closes a connection with too many pipelined requests. @returns whether it did. */
function limitPipelining({ socket }: IncomingMessage, res: ServerResponse): boolean {
  // Node assigns the socket to a response as soon as no earlier one is pending, so that this request doesn't wait.
  if (res.socket) return false;
  const count = (queuedCounts.get(socket) ?? 0) + 1;
  queuedCounts.set(socket, count);
  latestResponses.set(socket, res);
  res.once("close", () => queuedCounts.set(socket, (queuedCounts.get(socket) ?? 1) - 1));
  if (count > maxPipelined) socket.destroy();
  return count > maxPipelined;
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
      return `Port ${port} on ${host} is already in use; stop the program that uses it, or set PORT to a free port.`;
    case "EACCES":
      return `This user doesn't have permission to use port ${port}; set PORT to a number above 1023.`;
    default:
      return `Latchkey can't listen on HOST ${host}: ${failure.message}.`;
  }
}

/** Accepts the connections in the backlog, which closing the port resets. Each turn of the event loop accepts one. */
async function acceptBacklog(getAcceptedCount: () => number): Promise<void> {
  const deadline = performance.now() + maxClosingStepMs;
  let acceptedCount = getAcceptedCount();
  for (let iteration = 0; iteration < backlog && performance.now() < deadline; iteration += 1) {
    // The first iteration may still run in the current turn of the event loop, which has already polled for connections.
    await nextTurn();
    await nextTurn();
    if (getAcceptedCount() === acceptedCount) return;
    acceptedCount = getAcceptedCount();
  }
}

async function close(
  server: Server,
  {
    detachedSockets,
    graceMs,
    lastRequestAt,
  }: {
    readonly detachedSockets: ReadonlySet<Duplex>;
    readonly graceMs: number;
    readonly lastRequestAt: () => number;
  },
): Promise<void> {
  const closed = stopListening(server);
  await waitForQuietPeriod(lastRequestAt);
  // For connections whose response headers were sent, without `Connection: close`, before the closing.
  server.keepAliveTimeout = 1;
  server.closeIdleConnections();
  const timer = setTimeout(() => {
    server.closeAllConnections();
    for (const socket of detachedSockets) socket.destroy();
  }, graceMs);
  await closed;
  clearTimeout(timer);
}

async function waitForQuietPeriod(lastRequestAt: () => number): Promise<void> {
  const startedAt = performance.now();
  for (let quietFrom = startedAt; ; quietFrom = lastRequestAt()) {
    const deadline = Math.min(quietFrom + quietPeriodMs, startedAt + maxClosingStepMs);
    const remainingMs = deadline - performance.now();
    if (remainingMs <= 0) return;
    await delay(remainingMs);
    if (lastRequestAt() <= quietFrom) return;
  }
}

/**
 * Accepts no new connections; settles when all have ended. The HTTP server's own `close` would end idle ones
 * immediately.
 */
function stopListening(server: Server): Promise<void> {
  return new Promise((resolve) => {
    TcpServer.prototype.close.call(server, () => resolve());
  });
}
