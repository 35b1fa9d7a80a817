import { connect, type Socket } from "node:net";
import type { Target } from "./load.ts";

/**
 * Many concurrent requests on few connections. Each connection sends all of its requests before the first response.
 */
export interface PipelinedLoad {
  /** Settles with the first response. */
  readonly firstAnswer: Promise<void>;
  /** Settles with all statuses, in no order, when every request has a response or its connection has ended. */
  readonly ended: Promise<readonly string[]>;
}

/** @param options.requestsEach at most 32, because the server ends a connection with more pending requests. */
export function startPipelinedLoad(
  options: Target & {
    readonly baseUrl: string;
    readonly key: string;
    readonly connections: number;
    readonly requestsEach: number;
  },
): PipelinedLoad {
  const { baseUrl, key, connections, requestsEach, path = "/open/global/config", body } = options;
  const text = body ? JSON.stringify(body) : "";
  const content = body
    ? `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n`
    : "";
  const request = `${body ? "POST" : "GET"} ${path} HTTP/1.1\r\nHost: latchkey\r\nAuthorization: Bearer ${key}\r\n${content}\r\n${text}`;
  const first = Promise.withResolvers<void>();
  const all = Array.from({ length: connections }, () => {
    const socket = connect(Number(new URL(baseUrl).port), "127.0.0.1");
    socket.write(request.repeat(requestsEach));
    socket.once("data", () => first.resolve());
    return readStatuses(socket, requestsEach);
  });
  return { firstAnswer: first.promise, ended: Promise.all(all).then((statuses) => statuses.flat()) };
}

/** No body contains a status line. */
async function readStatuses(socket: Socket, count: number): Promise<readonly string[]> {
  let text = "";
  const statuses = (): string[] =>
    [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => String(status));
  await new Promise<void>((resolve) => {
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      if (statuses().length >= count) resolve();
    });
    socket.on("error", () => undefined);
    socket.on("close", () => resolve());
    // Only ends what hangs, on a busy machine too.
    socket.setTimeout(60_000, () => resolve());
  });
  socket.destroy();
  return statuses();
}
