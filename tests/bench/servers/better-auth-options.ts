import { apiKey } from "@better-auth/api-key";
import { betterAuth } from "better-auth";
import pg from "pg";
import type { PeerSetup } from "./peer.ts";

/**
 * better-auth as the comparison runs it. Uses are counted, durably and before the answer, as the product's are: that
 * is its rate limit per key, here with a limit that nobody reaches. Nothing is deferred, since a deferred update may
 * be lost, and it caches nothing, since a cached key may be stale. Its own limit per address is off.
 */
export function createBetterAuth(database: NonNullable<PeerSetup["database"]>) {
  return betterAuth({
    ...betterAuthOptions,
    database: new pg.Pool({ ...database, max: betterAuthPoolSize }),
  });
}

/** Connections to Postgres: of 4, 10 (pg's default), 20 and 48 the number with which it was fastest on two cores. */
export const betterAuthPoolSize = 4;

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
