/** How long the parts of admission or of a verification may take, in milliseconds. */
export interface AdmissionTimeouts {
  /** From the arrival of a request to its verdict. */
  readonly deadlineMs: number;
  /** Postgres cancels a statement after this time. */
  readonly statementTimeoutMs: number;
  /** For opening a connection. */
  readonly connectTimeoutMs: number;
}

export const admissionTimeouts: AdmissionTimeouts = {
  deadlineMs: 1_500,
  statementTimeoutMs: 1_400,
  connectTimeoutMs: 1_000,
};

/** A canceled statement leaves time to retry before the deadline. */
export const verificationTimeouts: AdmissionTimeouts = { ...admissionTimeouts, statementTimeoutMs: 700 };
