import type { KeyId, UserId } from "@latchkey/db/ids";
import type { Restrictions } from "../restrictions.ts";
import type { WorkspaceAccess } from "../workspace-access.ts";
import type { Limit, RefusalReason } from "./judge.ts";

/** On whose behalf an admitted request acts. */
export interface Principal {
  readonly keyId: KeyId;
  readonly userId: UserId;
  /** Of the secret that was presented, in base64. */
  readonly digest: string;
  /** The key's restrictions that a node enforces; undefined for none. */
  readonly restrictions: Restrictions | undefined;
  /** Whether the key has any restriction: a time, a place or a limit too. Such a key can manage no key but itself. */
  readonly isRestricted: boolean;
  /** Whether it was presented by a secret that it had before. Whoever has only that one changes no key. */
  readonly isByFormerSecret: boolean;
}

/** Where a limited key stands in its window, once a request is counted. */
export interface LimitState {
  readonly limit: Limit;
  readonly remaining: number;
  /** Seconds until the window ends, rounded up. */
  readonly resetsInSeconds: number;
}

/** Which key a request presented, and the digest of the secret if it is one that the key had before. */
export interface Presented {
  readonly keyId: KeyId;
  readonly retiredSecret: string | undefined;
}

/** What admission answers; it never throws. */
export type Verdict =
  | {
      readonly kind: "admitted";
      readonly presented: Presented;
      readonly principal: Principal;
      /** What it may do in the workspace that it asked for; undefined where it asked for none. */
      readonly access: WorkspaceAccess | undefined;
      /** Undefined for a key without a limit. */
      readonly limit: LimitState | undefined;
    }
  /** `presented` is undefined for a secret that no key has. */
  | { readonly kind: "refused"; readonly reason: RefusalReason; readonly presented: Presented | undefined }
  /** Good, but past its limit; not counted. */
  | { readonly kind: "limited"; readonly presented: Presented; readonly limit: LimitState }
  /** The database did not confirm in time, or too many requests wait. The use may have been counted. */
  | { readonly kind: "unavailable"; readonly retryAfterSeconds: number };
