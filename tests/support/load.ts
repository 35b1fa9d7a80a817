import { type Agent, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { startClients } from "./clients.ts";

/** One request of a load, by the clock of `performance.now()`. */
export interface Outcome {
  readonly baseUrl: string;
  readonly sentAt: number;
  readonly endedAt: number;
  /** Undefined if the connection ended without a response. */
  readonly status: number | undefined;
  /** The error code, such as ECONNRESET, if there is no status. */
  readonly errorCode: string | undefined;
  /** The response header. */
  readonly retryAfter: string | undefined;
  /** Whether an earlier request used the same connection. */
  readonly isReused: boolean;
  /** The `code` of the result of a verification, or of an error. */
  readonly code: string | undefined;
  /** The number of keys that a verification, or a batch of them, found valid. */
  readonly validCount: number;
}

/** What a load requests. */
export interface Target {
  /** `/open/global/config` by default. */
  readonly path?: string | undefined;
  /** A JSON body, which makes the request a POST. */
  readonly body?: object | undefined;
}

export interface Load {
  /** The requests that have ended so far. */
  readonly outcomes: readonly Outcome[];
  /** The number of requests sent so far. */
  readonly sent: () => number;
  /** Settles when this many requests have ended, or when all clients have ended. */
  readonly reached: (count: number) => Promise<void>;
  /** Settles when every client has ended: it was stopped, sent all requests, or lost its connection. */
  readonly ended: Promise<void>;
  /** Stops each client after its current request. */
  readonly stop: () => Promise<readonly Outcome[]>;
}

/** Only ends requests that hang, on a busy machine too. In milliseconds. */
const silentAfterMs = 60_000;

/** How long a client waits before it reconnects, in milliseconds. */
const reconnectPauseMs = 20;

/**
 * Starts clients that each send one request after the other on a separate, kept-alive connection. A client ends when
 * its connection breaks, unless it reconnects. Clients are distributed over the base URLs.
 */
export function startLoad(
  options: Target & {
    readonly baseUrls: readonly string[];
    readonly key: string;
    readonly connections: number;
    /** The total number; by default, clients run until they are stopped. */
    readonly requests?: number;
    /** Whether a client reconnects after its connection broke. */
    readonly reconnects?: boolean;
  },
): Load {
  const {
    baseUrls,
    key,
    connections,
    requests = Number.POSITIVE_INFINITY,
    reconnects = false,
    path,
    body,
  } = options;
  const outcomes: Outcome[] = [];
  let sent = 0;
  const { reached, ended, stop } = startClients(
    connections,
    async ({ index, agent, isStopped, onRequestEnd }) => {
      const baseUrl = baseUrls[index % baseUrls.length] ?? "";
      while (!isStopped() && sent < requests) {
        sent += 1;
        const outcome = await send(agent, baseUrl, key, { path, body });
        outcomes.push(outcome);
        onRequestEnd();
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

/** Sends one request on an agent's connection. Never throws: errors are outcomes. */
export function send(
  agent: Agent,
  baseUrl: string,
  key: string,
  { path = "/open/global/config", body }: Target = {},
): Promise<Outcome> {
  const sentAt = performance.now();
  return new Promise((resolve) => {
    const call = request(baseUrl + path, {
      agent,
      method: body ? "POST" : "GET",
      headers: { Authorization: `Bearer ${key}`, ...(body ? { "Content-Type": "application/json" } : {}) },
      timeout: silentAfterMs,
    });
    let retryAfter: string | undefined;
    let text = "";
    const end = (status: number | undefined, errorCode?: string): void =>
      resolve({
        baseUrl,
        sentAt,
        endedAt: performance.now(),
        status,
        errorCode,
        retryAfter,
        isReused: call.reusedSocket,
        code: /"code":"(\w+)"/.exec(text)?.[1],
        validCount: text.split('"code":"VALID"').length - 1,
      });
    call.on("response", (response) => {
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      retryAfter = response.headers["retry-after"];
      response.on("end", () => end(response.statusCode));
      response.on("error", (error: NodeJS.ErrnoException) => end(undefined, error.code));
    });
    call.on("timeout", () => call.destroy(Object.assign(new Error("silent"), { code: "SILENT" })));
    call.on("error", (error: NodeJS.ErrnoException) => end(undefined, error.code));
    call.end(body && JSON.stringify(body));
  });
}
