import type { RefusalReason } from "../admission/judge.ts";

/** The outcome of a request with a key: allowed, rate limited, or rejected for a reason that implies a known key. */
export type Outcome = "admitted" | "limited" | Exclude<RefusalReason, "malformed" | "unknown">;
