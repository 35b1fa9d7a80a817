/** How long the parts of admission or of a verification may take, in milliseconds. */
export interface AdmissionTimeouts {
  /** From the arrival of a request to its verdict. */
  readonly deadlineMs: number;
  /** Postgres cancels a statement after this time. */
  readonly statementTimeoutMs: number;
  /** For opening a connection. */
  readonly connectTimeoutMs: number;
  /** Postgres ends the transaction of a node that has sent nothing for this time, such as one that stopped after it had locked counters. */
  readonly idleTransactionTimeoutMs: number;
}

export const admissionTimeouts: AdmissionTimeouts = {
  deadlineMs: 1_500,
  statementTimeoutMs: 1_400,
  connectTimeoutMs: 1_000,
  idleTransactionTimeoutMs: 900,
};

/** A canceled statement leaves time to retry before the deadline. */
export const verificationTimeouts: AdmissionTimeouts = { ...admissionTimeouts, statementTimeoutMs: 700 };
