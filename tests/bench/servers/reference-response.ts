import { Agent, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import type { LoadRequest } from "../load/start-load.ts";

/** The response that all servers give: headers, as names and values, and the body. */
export interface ReferenceResponse {
  /** Headers that a peer must set, because neither Node nor Koa sets them. */
  readonly headers: readonly Header[];
  /** Headers that Node or Koa sets. */
  readonly ownHeaders: readonly Header[];
  readonly body: string;
}

type Header = readonly [name: string, value: string];

const automaticHeaders = new Set(["connection", "content-length", "date", "keep-alive", "transfer-encoding"]);
/** Headers whose value differs between responses. */
const variableHeaders = new Set(["date", "x-request-id"]);
const timeoutMs = 10_000;

/**
 * Records the response to a request like those of the load, over a keep-alive connection that was used before.
 * @throws an Error unless the status is 200.
 */
export async function recordResponse(url: string, request: LoadRequest): Promise<ReferenceResponse> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    await send(agent, url, request);
    return await send(agent, url, request);
  } finally {
    agent.destroy();
  }
}

async function send(agent: Agent, url: string, { key, body: sent }: LoadRequest): Promise<ReferenceResponse> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = {
      Authorization: `Bearer ${key}`,
      ...(sent !== undefined && { "Content-Type": "application/json" }),
    };
    const method = sent === undefined ? "GET" : "POST";
    const call = request(url, { agent, headers, method, signal: AbortSignal.timeout(timeoutMs) }, resolve);
    call.on("error", reject);
    call.end(sent);
  });
  const body = await text(response);
  if (response.statusCode !== 200) throw new Error(`${url} returned ${response.statusCode}: ${body}`);
  const all = pairUp(response.rawHeaders);
  return {
    headers: all.filter(([name]) => !automaticHeaders.has(name.toLowerCase())),
    ownHeaders: all.filter(([name]) => automaticHeaders.has(name.toLowerCase())),
    body,
  };
}

/** The path of the requests that measure admission. */
export const benchPath = "/open/global/config";

/** @throws an Error if a peer's response differs from the expected one, except for the date and the request ID. */
export function requireSameResponse(actual: ReferenceResponse, expected: ReferenceResponse): void {
  const [answered, given] = [actual, expected].map(describeResponse);
  if (answered === given) return;
  throw new Error(`A peer's response differs:\n${answered}\nexpected:\n${given}`);
}

function describeResponse({ headers, ownHeaders, body }: ReferenceResponse): string {
  const lines = [...headers, ...ownHeaders].map(([name, value]) => {
    const lowerName = name.toLowerCase();
    return variableHeaders.has(lowerName) ? `${lowerName}: …` : `${lowerName}: ${value}`;
  });
  return [...lines.sort(), body].join("\n");
}

function pairUp(raw: readonly string[]): Header[] {
  const headers: Header[] = [];
  for (let index = 0; index < raw.length; index += 2) headers.push([raw[index] ?? "", raw[index + 1] ?? ""]);
  return headers;
}
