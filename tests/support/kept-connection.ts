import { Agent, request } from "node:http";

/** What was answered over a connection that is kept. */
export interface KeptAnswer {
  readonly status: number;
  readonly body: string;
  /** Whether an earlier request had used the connection. */
  readonly isReused: boolean;
}

/** One connection, kept alive, that is used for one request after the other, by whomever. */
export interface KeptConnection {
  readonly ask: (
    path: string,
    options: {
      readonly method?: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: object;
    },
  ) => Promise<KeptAnswer>;
  readonly close: () => void;
}

/** Nothing is promised to take longer than 2 s; who waits longer than this has found something that hangs. */
const patienceMs = 10_000;

export function openKeptConnection(baseUrl: string): KeptConnection {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    ask: (path, { method = "GET", headers = {}, body }) =>
      new Promise((resolve, reject) => {
        const text = body && JSON.stringify(body);
        const sent = text ? { ...headers, "Content-Type": "application/json" } : headers;
        const call = request(`${baseUrl}${path}`, { agent, method, headers: sent, timeout: patienceMs });
        call.on("response", async (response) => {
          try {
            const chunks = await response.toArray();
            resolve({
              status: response.statusCode ?? 0,
              body: Buffer.concat(chunks).toString(),
              isReused: call.reusedSocket,
            });
          } catch (error) {
            reject(error);
          }
        });
        call.on("timeout", () => call.destroy(new Error("There was no answer.")));
        call.on("error", reject);
        call.end(text);
      }),
    close: () => agent.destroy(),
  };
}
