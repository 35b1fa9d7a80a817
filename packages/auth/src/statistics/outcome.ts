import type { RejectionReason } from "../admission/decision.ts";

/** The outcome of a request with a key: allowed, rate limited, or rejected for a reason that implies a known key. */
export type Outcome = "admitted" | "limited" | Exclude<RejectionReason, "malformed" | "unknown">;
