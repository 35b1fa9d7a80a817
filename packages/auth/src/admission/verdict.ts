import type { KeyId, UserId } from "@latchkey/db/ids";
import type { RefusalReason } from "./judge.ts";

/** On whose behalf an admitted request acts. */
export interface Principal {
  readonly keyId: KeyId;
  readonly userId: UserId;
}

/** What admission answers; it never throws. */
export type Verdict =
  | { readonly kind: "admitted"; readonly principal: Principal }
  | { readonly kind: "refused"; readonly reason: RefusalReason }
  /** The database did not confirm in time, or too many requests wait. The use may have been counted. */
  | { readonly kind: "unavailable"; readonly retryAfterSeconds: number };
