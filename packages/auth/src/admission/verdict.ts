import type { KeyId, UserId } from "@latchkey/db/ids";
import type { Restrictions } from "../restrictions.ts";
import type { WorkspaceAccess } from "../workspace-access.ts";
import type { Limit, RejectionReason } from "./decision.ts";

/** The key and user on whose behalf an admitted request acts. */
export interface Principal {
  readonly keyId: KeyId;
  readonly userId: UserId;
  /** Digest of the presented secret, in base64. */
  readonly digest: string;
  /** The restrictions that the node enforces; undefined for none. */
  readonly restrictions: Restrictions | undefined;
  /** Whether the key has any restriction, including expiry, IP ranges and a rate limit. A restricted key can manage only itself. */
  readonly isRestricted: boolean;
  /** Whether an old secret was presented. A request with an old secret may not change keys. */
  readonly isByFormerSecret: boolean;
}

/** State of a rate limit after a request was counted. */
export interface LimitState {
  readonly limit: Limit;
  readonly remaining: number;
  /** Seconds until the window ends, rounded up. */
  readonly resetsInSeconds: number;
}

/** The key that a request presented, its owner, and the digest of the secret if it is an old secret. */
export interface Presented {
  readonly keyId: KeyId;
  readonly userId: UserId;
  readonly formerSecret: string | undefined;
}

/** The result of admission, which never throws. */
export type Verdict =
  | {
      readonly kind: "admitted";
      readonly presented: Presented;
      readonly principal: Principal;
      /** The access to the required workspace; undefined if the request required none. */
      readonly access: WorkspaceAccess | undefined;
      /** Undefined for a key without a rate limit. */
      readonly limit: LimitState | undefined;
    }
  /** `presented` is undefined for a secret that belongs to no key. */
  | { readonly kind: "rejected"; readonly reason: RejectionReason; readonly presented: Presented | undefined }
  /** Valid, but over its rate limit; not counted. */
  | { readonly kind: "limited"; readonly presented: Presented; readonly limit: LimitState }
  /** The database did not confirm in time, or the queue is full. The use may have been counted. */
  | { readonly kind: "unavailable"; readonly retryAfterSeconds: number };
