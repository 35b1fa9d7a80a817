import { randomUUID } from "node:crypto";
import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { AppError } from "@latchkey/errors";
import { StartError } from "../start-error.ts";
import { errorBody } from "./error-boundary.ts";
import { answerMalformedHttp } from "./malformed-http.ts";

/** The listening socket of a process. It listens before the app is ready, so that a taken port is known at once. */
export interface HttpServer {
  readonly address: { readonly host: string; readonly port: number };
  /** Hands all requests from now on to the app. */
  readonly serve: (listener: RequestListener) => void;
  /** Takes its last requests, stops listening and waits, at most `graceMs`, for the requests under way. */
  readonly close: (graceMs: number) => Promise<void>;
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
 * How long a stopping node goes on to take requests, in milliseconds. Who sends over a connection kept alive learns
 * from the answer that it was the last; to close it at once would drop a request that is on its way.
 */
const lastRequestsMs = 250;

/** @throws {StartError} when the port is taken or not allowed. */
export async function listen(host: string, port: number): Promise<HttpServer> {
  let current: RequestListener = answerNotReady;
  let isClosing = false;
  const server = createServer({ ...limits, maxHeaderSize, requireHostHeader: false }, (req, res) => {
    if (isClosing) res.setHeader("Connection", "close");
    if (limitPipelining(req, res)) return;
    closeOnUnreadBody(req, res);
    current(req, res);
  });
  // Whatever it expects, it gets the app's answer; Node's own would be an empty 417.
  server.on("checkExpectation", (req, res) => server.emit("request", req, res));
  answerMalformedHttp(server);
  // Nothing in, nothing out: a client that does not read its answer is let go.
  server.setTimeout(silenceTimeoutMs);
  await bind(server, host, port);
  const address = server.address() as AddressInfo; // It listens on TCP.
  return {
    address: { host, port: address.port },
    serve: (listener) => {
      current = listener;
    },
    async close(graceMs) {
      isClosing = true;
      await close(server, graceMs);
    },
  };
}

/** Requests that may wait on one connection for the answers before them; browsers and clients send one at a time. */
const maxPipelined = 32;
const pending = new WeakMap<Socket, number>();

/** Ends a connection that asks for much more than it reads; whether it did. */
function limitPipelining({ socket }: IncomingMessage, res: ServerResponse): boolean {
  // Whose turn it is has the socket already: nothing waits before it, and there is nothing to count.
  if (res.socket) return false;
  const count = (pending.get(socket) ?? 0) + 1;
  pending.set(socket, count);
  res.once("close", () => pending.set(socket, (pending.get(socket) ?? 1) - 1));
  if (count > maxPipelined) socket.destroy();
  return count > maxPipelined;
}

/** Ends the connection with the answer where the body was not read whole: what follows it is read by nobody. */
function closeOnUnreadBody(req: IncomingMessage, res: ServerResponse): void {
  if (req.headers["transfer-encoding"] === undefined && Number(req.headers["content-length"] ?? 0) === 0)
    return;
  const writeHead = res.writeHead;
  res.writeHead = ((...head: Parameters<typeof writeHead>) => {
    if (!req.complete) res.shouldKeepAlive = false;
    return writeHead.apply(res, head);
  }) as typeof writeHead; // One signature stands for the method's overloads.
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
  server.listen({ host, port, backlog: 1_024 });
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

async function close(server: Server, graceMs: number): Promise<void> {
  // For connections whose answer was begun before it could say that it was the last.
  server.keepAliveTimeout = 1;
  await delay(lastRequestsMs);
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(timer);
}

const answerNotReady: RequestListener = (req, res) => {
  if (req.url === "/healthz") {
    res.writeHead(200, { "Content-Type": "application/json" }).end('{"status":"ok"}');
    return;
  }
  const error = new AppError("SERVICE_UNAVAILABLE", { message: "Latchkey is starting" });
  const requestId = randomUUID();
  res.writeHead(error.status, {
    "Content-Type": "application/json",
    "Retry-After": "1",
    "Cache-Control": "no-store",
    "X-Request-Id": requestId,
  });
  res.end(JSON.stringify(errorBody(error, requestId)));
};
