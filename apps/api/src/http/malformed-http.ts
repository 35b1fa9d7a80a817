import { randomUUID } from "node:crypto";
import { type Server, ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { AppError, type ErrorCode } from "@latchkey/errors";
import { errorBody } from "./error-boundary.ts";
import { requestIdOf } from "./request-id.ts";

const codes: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: "REQUEST_HEADER_FIELDS_TOO_LARGE",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "PAYLOAD_TOO_LARGE",
  ERR_HTTP_REQUEST_TIMEOUT: "REQUEST_TIMEOUT",
};

/**
 * Responds to requests that aren't valid HTTP, which never reach the app, with an error in the usual format.
 * @param getBaseUrl returns the base URL of the instance, once it is known.
 * @returns the open sockets that Node has detached from the HTTP server, which doesn't close them with the others.
 */
export function answerMalformedHttp(server: Server, getBaseUrl: () => string): ReadonlySet<Duplex> {
  const detachedSockets = new Set<Duplex>();
  const rejectNext = (socket: Duplex, code: ErrorCode): void =>
    answerNext(socket, (requestId) =>
      reject(socket, new AppError(code), { requestId, baseUrl: getBaseUrl() }),
    );
  server.on("clientError", (failure: NodeJS.ErrnoException, socket: Duplex) => {
    if (failure.code === "ECONNRESET" || !socket.writable) {
      socket.destroy();
      return;
    }
    rejectNext(socket, codes[failure.code ?? ""] ?? "BAD_REQUEST");
  });
  server.on("connect", (_request, socket: Duplex) => {
    detachedSockets.add(socket);
    socket.once("close", () => detachedSockets.delete(socket));
    // Node removes its error listener when it detaches a socket. Without a listener, a reset would end the process.
    socket.on("error", () => socket.destroy());
    rejectNext(socket, "METHOD_NOT_SUPPORTED");
  });
  return detachedSockets;
}

/**
 * Responds to the latest message on a connection. If the response to an earlier request is pending, ends the connection
 * after that response instead.
 * @param answer writes the response, with the ID of the request if its headers have arrived, otherwise with a new ID.
 */
function answerNext(socket: Duplex, answer: (requestId: string) => void): void {
  const oldest = findUnfinished(socket);
  // A response without headers whose request is incomplete belongs to the malformed request.
  const isEarlier = oldest && (oldest.req.complete || oldest.headersSent);
  if (!isEarlier) {
    answer(oldest ? requestIdOf(oldest.req) : randomUUID());
    return;
  }
  // Node may have detached the socket. Its timeouts no longer apply then.
  destroyAfter(socket, earlierResponseMs);
  // The client would take a response written now for the response to the earlier request.
  oldest.once("finish", () => {
    discardRest(socket);
    socket.end();
  });
}

function reject(
  socket: Duplex,
  error: AppError,
  { requestId, baseUrl }: { readonly requestId: string; readonly baseUrl: string },
): void {
  discardRest(socket);
  const body = JSON.stringify(errorBody(error, { requestId, baseUrl }));
  socket.end(
    [
      `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
      "Content-Type: application/json; charset=utf-8",
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${requestId}`,
      "Cache-Control: no-store",
      "X-Content-Type-Options: nosniff",
      "Connection: close",
      "",
      body,
    ].join("\r\n"),
  );
}

/** Returns the oldest response on this connection that isn't finished. */
function findUnfinished(socket: Duplex): ServerResponse | undefined {
  // Node keeps it here, and checks it before it sends its own default response.
  const oldest = "_httpMessage" in socket ? socket._httpMessage : undefined;
  return oldest instanceof ServerResponse ? oldest : undefined;
}

/** How long the response to an earlier request may take to be created and read, in milliseconds. */
const earlierResponseMs = 30_000;

/** How long a client may keep sending data that isn't read, in milliseconds. */
const lingerMs = 2_000;

/**
 * Reads and drops what the client still sends, for {@link lingerMs}. Closing a socket with unread data would reset the
 * connection, and the client would lose the error response.
 */
function discardRest(socket: Duplex): void {
  socket.removeAllListeners("data");
  socket.on("data", () => undefined);
  destroyAfter(socket, lingerMs);
}

function destroyAfter(socket: Duplex, milliseconds: number): void {
  const timer = setTimeout(() => socket.destroy(), milliseconds);
  socket.once("close", () => clearTimeout(timer));
}
