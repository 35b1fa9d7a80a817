import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { benchPath } from "../servers/reference-response.ts";

/** One connection, and the requests that it sends in turn. */
interface Client {
  readonly socket: Socket;
  readonly requests: readonly Buffer[];
  next: number;
  /** Bytes received of the current response. */
  received: number;
}

const timeoutMs = 10_000;

/**
 * Clients with one connection each, which send one request at a time, and only between `begin` and `end`. They read
 * only the status of a response, and expect every response to have as many bytes as the first one. Unlike wrk, they
 * can be stopped and started again within a fraction of a second, over the same connections.
 */
export class LoadClients {
  readonly #clients: readonly Client[];
  #isRunning = false;
  #inFlight = 0;
  #responseBytes = 0;
  #answered = 0;
  #settled = Promise.withResolvers<void>();

  private constructor(sockets: readonly Socket[], keys: readonly string[]) {
    this.#clients = sockets.map((socket, index) => {
      const own =
        keys.length < sockets.length
          ? keys
          : keys.filter((_, keyIndex) => keyIndex % sockets.length === index);
      const client = { socket, requests: own.map(buildRequest), next: 0, received: 0 };
      socket.on("data", (chunk: Buffer) => this.#receive(client, chunk)); // Chunks are buffers because no encoding is set.
      socket.on("error", (error) => this.#settled.reject(error));
      socket.on("end", () => this.#settled.reject(new Error("The server closed a connection.")));
      return client;
    });
  }

  /**
   * @param keys distributed over the connections. If there are fewer keys than connections, each connection uses
   * all of them.
   */
  static async connect(baseUrl: string, keys: readonly string[], connections: number): Promise<LoadClients> {
    const sockets = await Promise.all(
      Array.from({ length: connections }, async () => {
        const socket = connect({ port: Number(new URL(baseUrl).port), host: "127.0.0.1", noDelay: true });
        await once(socket, "connect");
        return socket;
      }),
    );
    return new LoadClients(sockets, keys);
  }

  /** The number of successful responses. */
  get answered(): number {
    return this.#answered;
  }

  begin(): void {
    this.#isRunning = true;
    this.#settled = Promise.withResolvers();
    this.#settled.promise.catch(() => undefined); // `end` rejects with the error.
    for (const client of this.#clients) this.#send(client);
  }

  /**
   * Resolves when every client has its response. @throws an Error for an unsuccessful response, or after ten
   * seconds without one.
   */
  async end(): Promise<void> {
    this.#isRunning = false;
    const timer = setTimeout(() => this.#settled.reject(new Error("A response took too long.")), timeoutMs);
    try {
      await this.#settled.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    for (const { socket } of this.#clients) socket.destroy();
  }

  #send(client: Client): void {
    this.#inFlight += 1;
    client.socket.write(client.requests[client.next] as Buffer); // The index is always within the array.
    client.next = (client.next + 1) % client.requests.length;
  }

  #receive(client: Client, chunk: Buffer): void {
    if (client.received === 0 && chunk.toString("latin1", 0, statusLine200.length) !== statusLine200) {
      this.#settled.reject(new Error(`A request failed: ${chunk.toString()}`));
      return;
    }
    client.received += chunk.length;
    this.#responseBytes ||= client.received;
    if (client.received < this.#responseBytes) return;
    client.received = 0;
    this.#answered += 1;
    this.#inFlight -= 1;
    if (this.#isRunning) this.#send(client);
    else if (this.#inFlight === 0) this.#settled.resolve();
  }
}

const statusLine200 = "HTTP/1.1 200 ";

function buildRequest(key: string): Buffer {
  return Buffer.from(`GET ${benchPath} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n\r\n`);
}
