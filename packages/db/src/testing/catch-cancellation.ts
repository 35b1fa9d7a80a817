import { sql } from "kysely";
import type { Db } from "../schema.ts";
import { measureSlowest } from "./measure-slowest.ts";

/** Less than the 500 ms between the timeout of Postgres and that of the client. */
const longStallMs = 400;
const maxAttempts = 5;

/**
 * Runs a statement that Postgres cancels, and returns the error. On a machine that stalls for almost as long as the client waits
 * after Postgres's timeout, the client can give up first. Then the statement runs again, at most five times in all.
 * @param db a pool that the statement doesn't use, on which the stalls are measured.
 */
export async function catchCancellation(db: Db, run: () => Promise<unknown>): Promise<unknown> {
  for (let attempt = 1; ; attempt += 1) {
    const stopMeasuring = measureSlowest(() => sql`select`.execute(db));
    const error = await run().then(
      () => undefined,
      (reason: unknown) => reason,
    );
    const hasStalled = (await stopMeasuring()) > longStallMs;
    const hasClientGivenUp = String(error).includes("Query read timeout");
    if (!hasClientGivenUp || !hasStalled || attempt === maxAttempts) return error;
  }
}
