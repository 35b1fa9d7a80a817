import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { OutgoingHttpHeader, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { createResponseCheck, type RecordedResponse } from "./openapi-check.ts";

/** Checks the responses of one app against the app's own OpenAPI document. */
export interface ResponseChecker {
  /** Wraps the app so that responses to requests under `/open` are checked. */
  readonly wrap: (app: RequestListener) => RequestListener;
  /** The number of responses checked so far. */
  readonly count: () => number;
  /** Stops checking. @throws {Error} with each response that did not match the document. */
  readonly finish: () => void;
}

/**
 * @param port the port that the app listens on. Responses to requests that can't be parsed are checked too.
 * @param getDocument returns the document; called when the first response is checked.
 */
export function createResponseChecker(port: number, getDocument: () => object): ResponseChecker {
  let check: ReturnType<typeof createResponseCheck> | undefined;
  let checkedCount = 0;
  const mismatches = new Set<string>();
  const checkResponse = (response: RecordedResponse): void => {
    check ??= createResponseCheck(getDocument());
    checkedCount += 1;
    for (const mismatch of check(response)) {
      mismatches.add(`${response.method} ${response.path} ${response.status}: ${mismatch.trim()}`);
    }
  };
  const onConnection = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket }; // As Node documents this channel.
    if (socket.localPort === port) observeRawResponses(socket, checkResponse);
  };
  subscribe("net.server.socket", onConnection);
  return {
    wrap: (app) => (req, res) => {
      const path = (req.url ?? "").replace(/^https?:\/\/[^/]*/, "").replace(/\?.*/s, "");
      if (path === "/open" || path.startsWith("/open/")) {
        observeResponse(res, (response) => checkResponse({ method: req.method ?? "", path, ...response }));
      }
      return app(req, res);
    },
    count: () => checkedCount,
    finish() {
      unsubscribe("net.server.socket", onConnection);
      if (mismatches.size === 0) return;
      throw new Error(`Answers that the OpenAPI document does not describe:\n${[...mismatches].join("\n")}`);
    },
  };
}

/** Calls `onResponse` when the response has ended. */
function observeResponse(
  res: ServerResponse,
  onResponse: (response: Pick<RecordedResponse, "status" | "headers" | "body">) => void,
): void {
  const { writeHead, write, end } = res;
  const headers = new Map<string, string>();
  const body: Buffer[] = [];
  const collect = (chunk: unknown): void => {
    if (typeof chunk === "string" || chunk instanceof Uint8Array) body.push(Buffer.from(chunk as string)); // Or bytes.
  };
  // TypeScript sees only one overload of each method, so the replacements are cast.
  res.writeHead = ((...head: Parameters<typeof writeHead>) => {
    for (const [name, value] of [...Object.entries(res.getHeaders()), ...listHeaders(head.at(-1))]) {
      headers.set(name.toLowerCase(), String(value));
    }
    return writeHead.apply(res, head);
  }) as typeof writeHead;
  res.write = ((...args: Parameters<typeof write>) => {
    collect(args[0]);
    return write.apply(res, args);
  }) as typeof write;
  res.end = ((...args: Parameters<typeof end>) => {
    collect(args[0]);
    const ended = end.apply(res, args);
    onResponse({ status: res.statusCode, headers, body: decode(Buffer.concat(body), headers) });
    return ended;
  }) as typeof end;
}

function decode(body: Buffer, headers: ReadonlyMap<string, string>): string {
  switch (headers.get("content-encoding")) {
    case "br":
      return brotliDecompressSync(body).toString();
    case "gzip":
      return gunzipSync(body).toString();
    default:
      return body.toString();
  }
}

/** Lists the headers in the last argument of `writeHead`: an array or object, or no headers. */
function listHeaders(argument: unknown): [string, OutgoingHttpHeader][] {
  if (typeof argument !== "object" || argument === null) return [];
  if (!Array.isArray(argument)) return Object.entries(argument);
  return argument.flatMap((name, index) => (index % 2 === 0 ? [[String(name), argument[index + 1]]] : []));
}

/**
 * Calls `onResponse` for a response that is written directly to the connection, because the request
 * could not be parsed.
 */
function observeRawResponses(socket: Socket, onResponse: (response: RecordedResponse) => void): void {
  const { end } = socket;
  socket.end = ((...args: Parameters<typeof end>) => {
    const [text] = args as unknown[]; // The overloads differ in the first parameter.
    if (typeof text === "string" && text.startsWith("HTTP/1.1 ")) onResponse(parse(text));
    return end.apply(socket, args);
  }) as typeof end;
}

function parse(text: string): RecordedResponse {
  const [head = "", body = ""] = text.split("\r\n\r\n", 2);
  const [statusLine = "", ...lines] = head.split("\r\n");
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { method: "", path: "", status: Number(statusLine.split(" ")[1]), headers: new Map(headers), body };
}
