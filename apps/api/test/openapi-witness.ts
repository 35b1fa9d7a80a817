import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { OutgoingHttpHeader, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { createAnswerCheck, type SeenAnswer } from "./openapi-check.ts";

/** Sees the answers of one app and knows which of them its own OpenAPI document does not describe. */
export interface Witness {
  /** Passes requests on, and looks at what is answered to those under `/open`. */
  readonly watch: (app: RequestListener) => RequestListener;
  /** How many answers were looked at. */
  readonly count: () => number;
  /** Ends watching. @throws {Error} with each answer that did not fit. */
  readonly conclude: () => void;
}

/**
 * @param port where the app listens; what is refused there before it is a request is looked at too.
 * @param getDocument the document, once there is an app to ask for it.
 */
export function createWitness(port: number, getDocument: () => object): Witness {
  let check: ReturnType<typeof createAnswerCheck> | undefined;
  let seen = 0;
  const complaints = new Set<string>();
  const examine = (answer: SeenAnswer): void => {
    check ??= createAnswerCheck(getDocument());
    seen += 1;
    for (const mismatch of check(answer)) {
      complaints.add(`${answer.method} ${answer.path} ${answer.status}: ${mismatch.trim()}`);
    }
  };
  const onConnection = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket }; // As Node documents this channel.
    if (socket.localPort === port) watchRefusals(socket, examine);
  };
  subscribe("net.server.socket", onConnection);
  return {
    watch: (app) => (req, res) => {
      const path = (req.url ?? "").replace(/^https?:\/\/[^/]*/, "").replace(/\?.*/s, "");
      if (path === "/open" || path.startsWith("/open/")) {
        watchAnswer(res, (answer) => examine({ method: req.method ?? "", path, ...answer }));
      }
      return app(req, res);
    },
    count: () => seen,
    conclude() {
      unsubscribe("net.server.socket", onConnection);
      if (complaints.size === 0) return;
      throw new Error(`Answers that the OpenAPI document does not describe:\n${[...complaints].join("\n")}`);
    },
  };
}

/** Tells what is written into a response once it is ended. */
function watchAnswer(
  res: ServerResponse,
  tell: (answer: Pick<SeenAnswer, "status" | "headers" | "body">) => void,
): void {
  const { writeHead, write, end } = res;
  const headers = new Map<string, string>();
  const body: Buffer[] = [];
  const keep = (chunk: unknown): void => {
    if (typeof chunk === "string" || chunk instanceof Uint8Array) body.push(Buffer.from(chunk as string)); // Or bytes.
  };
  // One signature stands for each method's overloads.
  res.writeHead = ((...head: Parameters<typeof writeHead>) => {
    for (const [name, value] of [...Object.entries(res.getHeaders()), ...listHeaders(head.at(-1))]) {
      headers.set(name.toLowerCase(), String(value));
    }
    return writeHead.apply(res, head);
  }) as typeof writeHead;
  res.write = ((...args: Parameters<typeof write>) => {
    keep(args[0]);
    return write.apply(res, args);
  }) as typeof write;
  res.end = ((...args: Parameters<typeof end>) => {
    keep(args[0]);
    const ended = end.apply(res, args);
    tell({ status: res.statusCode, headers, body: decode(Buffer.concat(body), headers) });
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

/** The last argument of `writeHead`: name, value, name, value; or an object; or no headers at all. */
function listHeaders(given: unknown): [string, OutgoingHttpHeader][] {
  if (typeof given !== "object" || given === null) return [];
  if (!Array.isArray(given)) return Object.entries(given);
  return given.flatMap((name, index) => (index % 2 === 0 ? [[String(name), given[index + 1]]] : []));
}

/** Tells what is written to a connection past any response: the answer to what is no request. */
function watchRefusals(socket: Socket, tell: (answer: SeenAnswer) => void): void {
  const { end } = socket;
  socket.end = ((...args: Parameters<typeof end>) => {
    const [text] = args as unknown[]; // Its overloads differ in what comes first.
    if (typeof text === "string" && text.startsWith("HTTP/1.1 ")) tell(parse(text));
    return end.apply(socket, args);
  }) as typeof end;
}

function parse(text: string): SeenAnswer {
  const [head = "", body = ""] = text.split("\r\n\r\n", 2);
  const [statusLine = "", ...lines] = head.split("\r\n");
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { method: "", path: "", status: Number(statusLine.split(" ")[1]), headers: new Map(headers), body };
}
