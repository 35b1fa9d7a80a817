import type { RefusalReason } from "../admission/judge.ts";

/** What may become of a request with a key: let in, past its limit, or refused for a reason that needs a key. */
export type Outcome = "admitted" | "limited" | Exclude<RefusalReason, "malformed" | "unknown">;
