import { randomUUID } from "node:crypto";
import { type Server, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { AppError, type ErrorCode } from "@latchkey/errors";
import { errorBody } from "./error-boundary.ts";

const codes: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: "REQUEST_HEADER_FIELDS_TOO_LARGE",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "PAYLOAD_TOO_LARGE",
  ERR_HTTP_REQUEST_TIMEOUT: "REQUEST_TIMEOUT",
};

/** Answers requests that break HTTP itself, which never reach the app, with an error of the usual shape. */
export function answerMalformedHttp(server: Server): void {
  server.on("clientError", (failure: NodeJS.ErrnoException, socket: Duplex) => {
    if (failure.code === "ECONNRESET" || !socket.writable) {
      socket.destroy();
      return;
    }
    discardRest(socket);
    const error = new AppError(codes[failure.code ?? ""] ?? "BAD_REQUEST");
    const requestId = randomUUID();
    const body = JSON.stringify(errorBody(error, requestId));
    socket.end(
      [
        `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
        "Content-Type: application/json; charset=utf-8",
        `Content-Length: ${Buffer.byteLength(body)}`,
        `X-Request-Id: ${requestId}`,
        "Cache-Control: no-store",
        "Connection: close",
        "",
        body,
      ].join("\r\n"),
    );
  });
}

/** How long a client may go on sending what nobody will read, in milliseconds. */
const lingerMs = 2_000;

/**
 * Reads and drops what the client still sends, for a while. To close on unread data would reset the connection,
 * and the client would lose the answer that tells it why.
 */
function discardRest(socket: Duplex): void {
  socket.removeAllListeners("data");
  socket.on("data", () => undefined);
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
}
