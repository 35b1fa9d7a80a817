import { connect, type Socket } from "node:net";

/** Many requests at once over few connections, of which each sends all of its own before the first answer. */
export interface PipelinedLoad {
  /** Settles with the first answer of any. */
  readonly firstAnswer: Promise<void>;
  /** Settles when every request was answered or its connection ended: the statuses, in no order. */
  readonly ended: Promise<readonly string[]>;
}

/** @param options.requestsEach a connection may have 32 requests waiting; with one more the server ends it. */
export function startPipelinedLoad(options: {
  readonly baseUrl: string;
  readonly key: string;
  readonly connections: number;
  readonly requestsEach: number;
}): PipelinedLoad {
  const { baseUrl, key, connections, requestsEach } = options;
  const request = `GET /open/global/config HTTP/1.1\r\nHost: latchkey\r\nAuthorization: Bearer ${key}\r\n\r\n`;
  const first = Promise.withResolvers<void>();
  const all = Array.from({ length: connections }, () => {
    const socket = connect(Number(new URL(baseUrl).port), "127.0.0.1");
    socket.write(request.repeat(requestsEach));
    socket.once("data", () => first.resolve());
    return readStatuses(socket, requestsEach);
  });
  return { firstAnswer: first.promise, ended: Promise.all(all).then((statuses) => statuses.flat()) };
}

/** No body of ours has a status line in it. */
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
    socket.setTimeout(15_000, () => resolve());
  });
  socket.destroy();
  return statuses();
}
