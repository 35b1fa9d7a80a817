import type { IssuedKeyId, KeyspaceId, WorkspaceId } from "@latchkey/db/ids";
import type { LimitResult } from "./meters.ts";
import type { PermissionQuery } from "./permission-query.ts";

/** A key to verify. */
export interface Verification {
  /** SHA-256 of the whole key, in base64. */
  readonly digest: string;
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
    };

/** A key that the caller may verify. */
export interface VerifiedKey {
  readonly keyId: IssuedKeyId;
  readonly keyspaceId: KeyspaceId;
  readonly workspaceId: WorkspaceId;
  readonly externalId: string | null;
  readonly name: string;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly permissions: readonly string[];
  readonly expiresAt: Date | null;
}

/** A limit that a verification names and the key doesn't have. The whole request is rejected, and nothing is spent. */
export interface UnknownLimit {
  /** The position of the verification in the request, from 0. */
  readonly verification: number;
  /** The position of the limit in the verification, from 0. */
  readonly limit: number;
}
