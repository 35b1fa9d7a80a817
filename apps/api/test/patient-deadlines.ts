import type { Deadlines } from "../src/deadlines.ts";

/** A time in milliseconds that no part of a request takes, even on a busy machine. */
const patientMs = 30_000;
const pool = { statementTimeoutMs: patientMs, connectTimeoutMs: patientMs };
const verdict = { ...pool, deadlineMs: patientMs, idleTransactionTimeoutMs: patientMs };

/** For tests that aren't about deadlines. A request that hangs still gets 503 before its test times out. */
export const patientDeadlines: Deadlines = {
  responseMs: patientMs,
  queueMs: patientMs,
  admission: verdict,
  verification: verdict,
  changes: pool,
  reads: pool,
};
