import type { VerificationCode } from "../verification/verification.ts";

/**
 * The outcome of a verification of a known key. `VALID` is a use of the key. `CHECKED` is a valid key that was not used: all costs
 * were 0, or an earlier request with the same `Idempotency-Key` was the use.
 */
export type VerificationOutcome = Exclude<VerificationCode, "NOT_FOUND"> | "CHECKED";
