import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { benchPath } from "../servers/answer.ts";

/** One connection, and the requests that it sends in turn. */
interface Caller {
  readonly socket: Socket;
  readonly requests: readonly Buffer[];
  next: number;
  /** Bytes of the answer under way. */
  received: number;
}

const patienceMs = 10_000;

/**
 * Clients with a connection each, that ask in their turns alone and then one request after the other. They read no more
 * of an answer than its status: each must have as many bytes as the first one. Unlike wrk they can be
 * stopped and started again, within a fraction of a second and over the same connections.
 */
export class Callers {
  readonly #callers: readonly Caller[];
  #isTurn = false;
  #underWay = 0;
  #answerBytes = 0;
  #answered = 0;
  #settled = Promise.withResolvers<void>();

  private constructor(sockets: readonly Socket[], keys: readonly string[]) {
    this.#callers = sockets.map((socket, hand) => {
      const own = keys.length < sockets.length ? keys : keys.filter((_, n) => n % sockets.length === hand);
      const caller = { socket, requests: own.map(requestWith), next: 0, received: 0 };
      socket.on("data", (chunk: Buffer) => this.#receive(caller, chunk)); // No encoding is set.
      socket.on("error", (error) => this.#settled.reject(error));
      socket.on("end", () => this.#settled.reject(new Error("A connection was ended.")));
      return caller;
    });
  }

  /** @param keys dealt out; where there are fewer than connections, each has them all. */
  static async connect(baseUrl: string, keys: readonly string[], connections: number): Promise<Callers> {
    const sockets = await Promise.all(
      Array.from({ length: connections }, async () => {
        const socket = connect({ port: Number(new URL(baseUrl).port), host: "127.0.0.1", noDelay: true });
        await once(socket, "connect");
        return socket;
      }),
    );
    return new Callers(sockets, keys);
  }

  /** How many good answers there have been. */
  get answered(): number {
    return this.#answered;
  }

  begin(): void {
    this.#isTurn = true;
    this.#settled = Promise.withResolvers();
    this.#settled.promise.catch(() => undefined); // Who ends the turn is told.
    for (const caller of this.#callers) this.#send(caller);
  }

  /** Settles when all have their answers. @throws an Error after an answer that was none, or after ten seconds without. */
  async end(): Promise<void> {
    this.#isTurn = false;
    const timer = setTimeout(() => this.#settled.reject(new Error("No answer came.")), patienceMs);
    try {
      await this.#settled.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    for (const { socket } of this.#callers) socket.destroy();
  }

  #send(caller: Caller): void {
    this.#underWay += 1;
    caller.socket.write(caller.requests[caller.next] as Buffer); // It is a place of theirs.
    caller.next = (caller.next + 1) % caller.requests.length;
  }

  #receive(caller: Caller, chunk: Buffer): void {
    if (caller.received === 0 && chunk.toString("latin1", 0, goodStart.length) !== goodStart) {
      this.#settled.reject(new Error(`An answer was not good: ${chunk.toString()}`));
      return;
    }
    caller.received += chunk.length;
    this.#answerBytes ||= caller.received;
    if (caller.received < this.#answerBytes) return;
    caller.received = 0;
    this.#answered += 1;
    this.#underWay -= 1;
    if (this.#isTurn) this.#send(caller);
    else if (this.#underWay === 0) this.#settled.resolve();
  }
}

const goodStart = "HTTP/1.1 200 ";

function requestWith(key: string): Buffer {
  return Buffer.from(`GET ${benchPath} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n\r\n`);
}
