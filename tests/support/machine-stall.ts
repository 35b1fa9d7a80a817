import { measureSlowest } from "@latchkey/db/testing/measure-slowest";
import { statusOf } from "./open-call.ts";

/** A machine that delays responses for longer than this, in milliseconds, also delays some until their deadline. */
export const busyMs = 500;

/**
 * Measures how long a busy machine delays responses of a node that wait for nothing, until the returned function is called, which
 * returns the longest delay, in milliseconds.
 */
export function measureStall(baseUrl: string): () => Promise<number> {
  return measureSlowest(() => statusOf(baseUrl, "/healthz"));
}
