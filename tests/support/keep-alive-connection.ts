import { Agent, request } from "node:http";

/** A response on a connection that is kept alive. */
export interface KeepAliveResponse {
  readonly status: number;
  readonly body: string;
  /** Whether an earlier request used the same connection. */
  readonly isReused: boolean;
}

/** One kept-alive connection. Requests on it run one after the other. */
export interface KeepAliveConnection {
  readonly ask: (
    path: string,
    options: {
      readonly method?: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: object;
    },
  ) => Promise<KeepAliveResponse>;
  readonly close: () => void;
}

/** Only ends what hangs, on a busy machine too. In milliseconds. */
const timeoutMs = 60_000;

export function openKeepAliveConnection(baseUrl: string): KeepAliveConnection {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    ask: (path, { method = "GET", headers = {}, body }) =>
      new Promise((resolve, reject) => {
        const text = body && JSON.stringify(body);
        const sent = text ? { ...headers, "Content-Type": "application/json" } : headers;
        const call = request(`${baseUrl}${path}`, { agent, method, headers: sent, timeout: timeoutMs });
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
        call.on("timeout", () => call.destroy(new Error("There was no response.")));
        call.on("error", reject);
        call.end(text);
      }),
    close: () => agent.destroy(),
  };
}
