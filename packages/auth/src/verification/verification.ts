import type { IdempotencyName } from "@latchkey/db/idempotency-records";
import type { ConsumerId, IssuedKeyId, KeyId, KeyspaceId, WorkspaceId } from "@latchkey/db/ids";
import type { Presented } from "../admission/verdict.ts";
import type { LimitResult } from "./meters.ts";
import type { PermissionQuery } from "./permission-query.ts";

/** A key to verify. */
export interface Verification {
  /** SHA-256 of the whole key, in base64; undefined for a text that no key can be, which is not looked up. */
  readonly digest: string | undefined;
  /** Whether the key has the form of an API key, which is verified only in the workspace that the request names. */
  readonly isApiKey: boolean;
  /** The keyspace that the key must belong to; undefined for any. */
  readonly keyspaceId: KeyspaceId | undefined;
  /** The workspace that the key must belong to; undefined for any. */
  readonly workspaceId: WorkspaceId | undefined;
  /** The permissions that the key must have; undefined for none. */
  readonly permissions: PermissionQuery | undefined;
  /** What is spent from the credits, and from each limit unless it has a cost of its own. A whole number. */
  readonly cost: number;
  /** The limits that apply in addition to those that always apply, with their costs. */
  readonly limits: readonly { readonly name: string; readonly cost: number | undefined }[];
  /** The IP address of the consumer; undefined if it is not known. */
  readonly clientAddress: string | undefined;
  /** What the caller counts the verification under. They don't affect the result. */
  readonly tags: readonly string[];
}

/** Why a key is valid or not, in the order in which the checks are made. */
export type VerificationCode =
  | "NOT_FOUND"
  | "DISABLED"
  | "EXPIRED"
  | "FORBIDDEN"
  | "INSUFFICIENT_PERMISSIONS"
  | "RATE_LIMITED"
  | "USAGE_EXCEEDED"
  | "VALID";

/** The result of one verification. `NOT_FOUND` says nothing more, so that all its causes are indistinguishable. */
export type VerificationResult =
  | { readonly code: "NOT_FOUND" }
  | {
      readonly code: Exclude<VerificationCode, "NOT_FOUND">;
      readonly key: VerifiedKey;
      readonly limits: readonly LimitResult[];
      /** Null for a key without credits. */
      readonly remainingCredits: number | null;
      /** Whether the verification was counted as a use: the key is valid, and a cost was spent. */
      readonly isUse: boolean;
      /** The use of an API key that was counted; undefined for an issued key, and if no use was counted. */
      readonly apiKeyUse: Presented | undefined;
    };

/** A key that the caller may verify. Results about the same facts share one object, which never changes. */
export interface VerifiedKey {
  readonly keyId: IssuedKeyId | KeyId;
  /** Null for an API key, like `name` and `meta`. */
  readonly keyspaceId: KeyspaceId | null;
  readonly workspaceId: WorkspaceId;
  readonly consumerId: ConsumerId | null;
  readonly externalId: string | null;
  readonly name: string | null;
  readonly meta: Readonly<Record<string, unknown>> | null;
  readonly permissions: readonly string[];
  readonly expiresAt: Date | null;
}

/** The outcome of the verifications of an admitted request. Each counts as a use of the caller's key. Only `verified` has spent from verified keys. */
export type VerificationOutcome =
  | { readonly kind: "verified"; readonly results: readonly VerificationResult[] }
  /** A verification names a limit that its key doesn't have. The positions count from 0. */
  | { readonly kind: "unknown-limit"; readonly verification: number; readonly limit: number }
  /** An earlier request with the same name had another body. */
  | { readonly kind: "name-reused" }
  /** The caller's API key has used too many names within an hour. */
  | { readonly kind: "too-many-names"; readonly retryAfterSeconds: number };

/** A request with an `Idempotency-Key`. It spends once, however often it is sent within an hour. */
export interface NamedRequest extends IdempotencyName {
  /** SHA-256 of the body. */
  readonly requestHash: Buffer;
}

/** A request that verifies keys. */
export interface VerificationRequest {
  /** The caller's IP address; undefined if it is not known. */
  readonly address: string | undefined;
  readonly verifications: readonly Verification[];
  /** Undefined for a request that spends each time it is sent. */
  readonly name: Omit<NamedRequest, "userId"> | undefined;
}
