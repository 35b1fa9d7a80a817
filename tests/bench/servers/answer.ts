import { request } from "node:http";

/** What all servers answer alike: the body, and the headers that neither Node nor Koa makes by itself. */
export interface Answer {
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

/** Node's own and, with the body's length, Koa's own. */
const madeByThemselves = new Set(["connection", "content-length", "date", "keep-alive", "transfer-encoding"]);
const timeoutMs = 10_000;

/** Makes one request as the load will, and keeps what came back. @throws an Error unless it is a 200. */
export async function recordAnswer(baseUrl: string, key: string): Promise<Answer> {
  return await new Promise((resolve, reject) => {
    const call = request(
      `${baseUrl}${benchPath}`,
      { agent: false, headers: { Authorization: `Bearer ${key}` }, signal: AbortSignal.timeout(timeoutMs) },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const body = Buffer.concat(chunks).toString();
          if (response.statusCode === 200) resolve({ headers: recordHeaders(response.rawHeaders), body });
          else reject(new Error(`${baseUrl} answers ${response.statusCode}: ${body}`));
        });
      },
    );
    call.on("error", reject);
    call.end();
  });
}

/** What the load asks for, of every server. */
export const benchPath = "/open/global/config";

/** @throws an Error when a peer's answer is not, to the byte, the one it was given. */
export function requireSameAnswer(actual: Answer, expected: Answer): void {
  const [answered, given] = [actual, expected].map(({ headers, body }) => [
    ...headers.map(([name, value]) => `${name.toLowerCase()}: ${value}`).sort(),
    body,
  ]);
  if (String(answered) === String(given)) return;
  throw new Error(`A peer answers something else:\n${answered?.join("\n")}\nand not\n${given?.join("\n")}`);
}

function recordHeaders(raw: readonly string[]): [string, string][] {
  const headers: [string, string][] = [];
  for (let index = 0; index < raw.length; index += 2) {
    const [name = "", value = ""] = raw.slice(index, index + 2);
    if (!madeByThemselves.has(name.toLowerCase())) headers.push([name, value]);
  }
  return headers;
}
