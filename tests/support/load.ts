import { type Agent, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { startClients } from "./clients.ts";

/** One request of a load, by the clock of `performance.now()`. */
export interface Outcome {
  readonly baseUrl: string;
  readonly sentAt: number;
  readonly endedAt: number;
  /** Undefined when the connection ended without an answer. */
  readonly status: number | undefined;
  /** The error's, such as ECONNRESET, when there is no status. */
  readonly errorCode: string | undefined;
  /** The answer's header of that name. */
  readonly retryAfter: string | undefined;
  /** Whether an earlier request had used the connection. */
  readonly isReused: boolean;
}

export interface Load {
  /** What has ended so far. */
  readonly outcomes: readonly Outcome[];
  /** How many requests were sent so far. */
  readonly sent: () => number;
  /** Settles when this many requests have ended, or all clients. */
  readonly reached: (count: number) => Promise<void>;
  /** Settles when every client has ended: told to stop, all requests made, or without a connection. */
  readonly ended: Promise<void>;
  /** Lets each client finish its request, and no more. */
  readonly stop: () => Promise<readonly Outcome[]>;
}

/** How long a client whose connection broke waits before it makes another, in milliseconds. */
const reconnectPauseMs = 20;

/**
 * Clients that each send one request after the other over a connection of its own, kept alive, and stop at the first
 * that breaks, unless they reconnect. They take turns over the addresses.
 */
export function startLoad(options: {
  readonly baseUrls: readonly string[];
  readonly key: string;
  readonly connections: number;
  /** In all; without it, until told to stop. */
  readonly requests?: number;
  /** Whether a client whose connection broke goes on over a new one. */
  readonly reconnects?: boolean;
}): Load {
  const { baseUrls, key, connections, requests = Number.POSITIVE_INFINITY, reconnects = false } = options;
  const outcomes: Outcome[] = [];
  let sent = 0;
  const { reached, ended, stop } = startClients(
    connections,
    async ({ index, agent, isStopped, tellEnded }) => {
      const baseUrl = baseUrls[index % baseUrls.length] ?? "";
      while (!isStopped() && sent < requests) {
        sent += 1;
        const outcome = await send(agent, baseUrl, key);
        outcomes.push(outcome);
        tellEnded();
        if (outcome.status !== undefined) continue;
        if (!reconnects) break;
        await delay(reconnectPauseMs);
      }
    },
  );
  return {
    outcomes,
    sent: () => sent,
    reached,
    ended,
    async stop() {
      await stop();
      return outcomes;
    },
  };
}

/** Sends one request over an agent's connection. It never fails: what becomes of it is the outcome. */
export function send(
  agent: Agent,
  baseUrl: string,
  key: string,
  path = "/open/global/config",
): Promise<Outcome> {
  const sentAt = performance.now();
  return new Promise((resolve) => {
    const call = request(baseUrl + path, {
      agent,
      headers: { Authorization: `Bearer ${key}` },
      timeout: 15_000,
    });
    let retryAfter: string | undefined;
    const end = (status: number | undefined, errorCode?: string): void =>
      resolve({
        baseUrl,
        sentAt,
        endedAt: performance.now(),
        status,
        errorCode,
        retryAfter,
        isReused: call.reusedSocket,
      });
    call.on("response", (response) => {
      response.resume();
      retryAfter = response.headers["retry-after"];
      response.on("end", () => end(response.statusCode));
      response.on("error", (error: NodeJS.ErrnoException) => end(undefined, error.code));
    });
    call.on("timeout", () => call.destroy(Object.assign(new Error("silent"), { code: "SILENT" })));
    call.on("error", (error: NodeJS.ErrnoException) => end(undefined, error.code));
    call.end();
  });
}
