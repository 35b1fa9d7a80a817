import { randomUUID } from "node:crypto";
import { type Server, ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { AppError, type ErrorCode } from "@latchkey/errors";
import { errorBody } from "./error-boundary.ts";

const codes: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: "REQUEST_HEADER_FIELDS_TOO_LARGE",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "PAYLOAD_TOO_LARGE",
  ERR_HTTP_REQUEST_TIMEOUT: "REQUEST_TIMEOUT",
};

/**
 * Answers requests that break HTTP itself, which never reach the app, with an error of the usual shape.
 * @param getBaseUrl the instance's own address, once that is known.
 * @returns the sockets that Node's HTTP has let go of and that are still open: it will not end them with the others.
 */
export function answerMalformedHttp(server: Server, getBaseUrl: () => string): ReadonlySet<Duplex> {
  const letGo = new Set<Duplex>();
  const refuseNext = (socket: Duplex, code: ErrorCode): void =>
    answerNext(socket, () => refuse(socket, new AppError(code), getBaseUrl()));
  server.on("clientError", (failure: NodeJS.ErrnoException, socket: Duplex) => {
    if (failure.code === "ECONNRESET" || !socket.writable) {
      socket.destroy();
      return;
    }
    refuseNext(socket, codes[failure.code ?? ""] ?? "BAD_REQUEST");
  });
  server.on("connect", (_request, socket: Duplex) => {
    letGo.add(socket);
    socket.once("close", () => letGo.delete(socket));
    // With the socket went its listener for errors: without one, a reset would end the process.
    socket.on("error", () => socket.destroy());
    refuseNext(socket, "METHOD_NOT_SUPPORTED");
  });
  return letGo;
}

/** Answers what has just come over a connection, or ends it with the answer to an earlier request. */
function answerNext(socket: Duplex, answer: () => void): void {
  const earlier = findUnanswered(socket);
  if (!earlier) {
    answer();
    return;
  }
  // Node may have let go of the socket, and of its limits with it.
  destroyAfter(socket, earlierMs);
  // An answer written now would be taken for that of the earlier request; that one comes, and it is the last.
  earlier.once("finish", () => {
    discardRest(socket);
    socket.end();
  });
}

function refuse(socket: Duplex, error: AppError, baseUrl: string): void {
  discardRest(socket);
  const requestId = randomUUID();
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

/** The answer to an earlier request on this connection that is still to come, or is on its way. */
function findUnanswered(socket: Duplex): ServerResponse | undefined {
  // Node keeps the oldest response there that is not finished, and looks there itself before its default answer.
  const oldest = "_httpMessage" in socket ? socket._httpMessage : undefined;
  // One whose request is not complete belongs to the request that is broken.
  const isEarlier = oldest instanceof ServerResponse && (oldest.req.complete || oldest.headersSent);
  return isEarlier ? oldest : undefined;
}

/** How long the answer to an earlier request may take to be made and read, in milliseconds. */
const earlierMs = 30_000;

/** How long a client may go on sending what nobody will read, in milliseconds. */
const lingerMs = 2_000;

/**
 * Reads and drops what the client still sends, for a while. To close on unread data would reset the connection,
 * and the client would lose the answer that tells it why.
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
