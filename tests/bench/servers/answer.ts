import { Agent, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";

/** What all servers answer alike, as names and values of headers and the body. */
export interface Answer {
  /** Those that neither Node nor Koa makes by itself: a peer is to set them. */
  readonly headers: readonly Header[];
  /** Those that Node makes by itself and, with the body's length, Koa. */
  readonly ownHeaders: readonly Header[];
  readonly body: string;
}

type Header = readonly [name: string, value: string];

const madeByThemselves = new Set(["connection", "content-length", "date", "keep-alive", "transfer-encoding"]);
/** Of these it is the name alone that is the same in every answer. */
const everDifferent = new Set(["date", "x-request-id"]);
const timeoutMs = 10_000;

/**
 * Makes a request as the load will, over a connection that is kept alive and was used before, and keeps what came back.
 * @throws an Error unless it is a 200.
 */
export async function recordAnswer(baseUrl: string, key: string): Promise<Answer> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    await ask(agent, baseUrl, key);
    return await ask(agent, baseUrl, key);
  } finally {
    agent.destroy();
  }
}

async function ask(agent: Agent, baseUrl: string, key: string): Promise<Answer> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { Authorization: `Bearer ${key}` };
    const call = request(
      `${baseUrl}${benchPath}`,
      { agent, headers, signal: AbortSignal.timeout(timeoutMs) },
      resolve,
    );
    call.on("error", reject);
    call.end();
  });
  const body = await text(response);
  if (response.statusCode !== 200) throw new Error(`${baseUrl} answers ${response.statusCode}: ${body}`);
  const all = pairUp(response.rawHeaders);
  return {
    headers: all.filter(([name]) => !madeByThemselves.has(name.toLowerCase())),
    ownHeaders: all.filter(([name]) => madeByThemselves.has(name.toLowerCase())),
    body,
  };
}

/** What the load asks for, of every server. */
export const benchPath = "/open/global/config";

/** @throws an Error when a peer's answer is not, to the byte, the one it was given, but for the date and the request's id. */
export function requireSameAnswer(actual: Answer, expected: Answer): void {
  const [answered, given] = [actual, expected].map(describeAnswer);
  if (answered === given) return;
  throw new Error(`A peer answers something else:\n${answered}\nand not\n${given}`);
}

function describeAnswer({ headers, ownHeaders, body }: Answer): string {
  const lines = [...headers, ...ownHeaders].map(([name, value]) => {
    const lowerName = name.toLowerCase();
    return everDifferent.has(lowerName) ? `${lowerName}: …` : `${lowerName}: ${value}`;
  });
  return [...lines.sort(), body].join("\n");
}

function pairUp(raw: readonly string[]): Header[] {
  const headers: Header[] = [];
  for (let index = 0; index < raw.length; index += 2) headers.push([raw[index] ?? "", raw[index + 1] ?? ""]);
  return headers;
}
