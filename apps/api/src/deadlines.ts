import { type AdmissionTimeouts, admissionTimeouts, verificationTimeouts } from "@latchkey/auth/timeouts";
import { type PoolTimeouts, poolTimeouts } from "@latchkey/db/connection";

/** How long the parts of a request may take, in milliseconds. */
export interface Deadlines {
  /** From the arrival of a request under `/open` to its response. */
  readonly responseMs: number;
  /** How long a read, a change or a page of an export of the web app may wait in the user's queue. */
  readonly queueMs: number;
  readonly admission: AdmissionTimeouts;
  readonly verification: AdmissionTimeouts;
  readonly changes: PoolTimeouts;
  readonly reads: PoolTimeouts;
}

/** Every node has these. Only tests that aren't about deadlines replace them. */
export const defaultDeadlines: Deadlines = {
  // Callers get a response within two seconds, even if the database is down.
  responseMs: 1_800,
  queueMs: 5_000,
  admission: admissionTimeouts,
  verification: verificationTimeouts,
  changes: poolTimeouts,
  // Within the quotas, every read is faster.
  reads: { ...poolTimeouts, statementTimeoutMs: 1_000 },
};
