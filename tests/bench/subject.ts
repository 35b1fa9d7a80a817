import type { DatabaseConnection } from "./database/bench-cluster.ts";
import type { LoadRequest } from "./load/start-load.ts";
import { type ReferenceResponse, recordResponse, requireSameResponse } from "./servers/reference-response.ts";
import { type RunningServer, startPeer } from "./servers/start-peer.ts";

/** How a benchmark reports its progress, and is ended. */
export interface Progress {
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/** A server with its data and its load: one row of a report. */
export interface Subject {
  readonly name: string;
  readonly path: string;
  /** Sent equally often. */
  readonly requests: readonly LoadRequest[];
  /** The number of uses that one request counts in the store. */
  readonly usesPerRequest: number;
  /** The database that counts uses; undefined for a server without a database. */
  readonly store: { readonly address: DatabaseConnection; readonly countSql: string } | undefined;
  /** With more connections, requests would wait as long as their deadline; undefined for any number. */
  readonly maxConnections?: number;
  /** The largest share (0 to 1) of its responses that may have an error status; 0 by default. */
  readonly maxRejectedShare?: number;
  /** Whether each key must be used once before the measurement. */
  readonly remembersKeys: boolean;
  readonly start: () => Promise<RunningServer>;
  /** Starts bare Koa with the same responses, which is measured between the turns. */
  readonly startReference: () => Promise<RunningServer>;
}

/**
 * Starts a peer without a database, and checks that it gives the expected response.
 * @throws an Error if the response differs.
 */
export async function startVerifiedPeer(
  script: string,
  { path, requests, response }: Pick<Subject, "path" | "requests"> & { readonly response: ReferenceResponse },
): Promise<RunningServer> {
  const peer = await startPeer(script, { response });
  try {
    requireSameResponse(await recordResponse(peer.baseUrl + path, firstOf(requests)), response);
    return peer;
  } catch (error) {
    await peer.stop();
    throw error;
  }
}

/** @throws an Error if there is no request. */
export function firstOf(requests: readonly LoadRequest[]): LoadRequest {
  const [first] = requests;
  if (!first) throw new Error("A load has no requests.");
  return first;
}

/** Starts a server, and stops it after use. */
export async function withServer<T>(
  start: () => Promise<RunningServer>,
  use: (server: RunningServer) => Promise<T>,
): Promise<T> {
  const server = await start();
  try {
    return await use(server);
  } finally {
    await server.stop();
  }
}
