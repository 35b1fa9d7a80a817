import { apiKey } from "@better-auth/api-key";
import { betterAuth } from "better-auth";
import pg from "pg";
import type { PeerSetup } from "./peer.ts";

/**
 * better-auth as the comparison runs it. Like Latchkey, it counts each use durably before the response: its rate limit
 * per key does, with a limit that is never reached. Nothing is deferred, because a deferred update can be lost, and
 * nothing is cached, because a cached key can be stale. Its rate limit per IP address is off.
 */
export function createBetterAuth(database: NonNullable<PeerSetup["database"]>) {
  return betterAuth({
    ...betterAuthOptions,
    database: new pg.Pool({ ...database, max: betterAuthPoolSize }),
  });
}

/**
 * The number of connections to Postgres. Of 4, 10 (the default of pg), 20 and 48, it was fastest with 4 on two
 * cores.
 */
export const betterAuthPoolSize = 4;

/**
 * The largest share of a load that better-auth may reject. With 256 connections, it rejected 1 of 2,466 verifications of a valid key.
 */
export const betterAuthMaxRejectedShare = 0.01;

const dayInMs = 86_400_000;

const betterAuthOptions = {
  baseURL: "http://127.0.0.1",
  secret: "a secret for a benchmark, which is no secret at all",
  emailAndPassword: { enabled: true },
  logger: { disabled: true },
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
  plugins: [apiKey({ rateLimit: { enabled: true, timeWindow: dayInMs, maxRequests: 2_000_000_000 } })],
};
