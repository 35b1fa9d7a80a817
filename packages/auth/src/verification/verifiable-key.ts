import type { ConsumerId, IssuedKeyId, KeyId, KeyspaceId, UserId, WorkspaceId } from "@latchkey/db/ids";
import type { NamedLimit, Refill } from "@latchkey/db/issued-key-settings";
import type { GrantedPermissions } from "./permission-query.ts";

/** A user, workspace, keyspace or consumer that a key belongs to. */
export interface OwnerVersion {
  readonly id: UserId | WorkspaceId | KeyspaceId | ConsumerId;
  /** Changes with every change to the owner that affects the verification of its keys. */
  readonly version: number;
}

/**
 * Everything that decides whether a key is valid in a workspace, as stored in the database at one instant. An issued key
 * belongs to one workspace; an API key has other facts in each workspace that it can reach.
 */
export interface VerifiableKey {
  readonly keyId: IssuedKeyId | KeyId;
  readonly workspaceId: WorkspaceId;
  /** Null for an API key. */
  readonly keyspaceId: KeyspaceId | null;
  /** Changes with every change to the key that affects its verification. */
  readonly version: number;
  /** The keyspace of an issued key, or the user of an API key. */
  readonly owner: OwnerVersion;
  /**
   * Changes when the workspace is disabled or enabled. Null for an API key: the version of its user then changes too, as for
   * admission.
   */
  readonly workspaceVersion: number | null;
  /** Whether the key, its owner or its workspace is disabled. */
  readonly isDisabled: boolean;
  /** Whether the presented secret is the current one and is marked as unused, as after a creation or rotation (docs/decisions/0027). */
  readonly isUnusedSecret: boolean;
  /**
   * Whether `issued_key_uses` has a row of the key, which the first use without meters adds. If it is true by mistake, counting
   * fails once, and the row is added. Always true for an API key.
   */
  readonly isInUse: boolean;
  /** In milliseconds since the epoch; null for never. */
  readonly expiresAt: number | null;
  /** When the overlap of the presented old secret ends, in milliseconds since the epoch; null for the current secret. */
  readonly overlapEndsAt: number | null;
  /** Null for an API key, like the next field. */
  readonly name: string | null;
  readonly meta: Readonly<Record<string, unknown>> | null;
  readonly permissions: readonly string[];
  /** The same permissions, for permission queries. */
  readonly grantedPermissions: GrantedPermissions;
  readonly limits: readonly NamedLimit[];
  readonly refill: Refill | null;
  /** Whether the key has a balance of credits, which only its counter has. */
  readonly hasCredits: boolean;
  /** When the key becomes idle in the workspace, in milliseconds since the epoch; null for never. */
  readonly idleAt: number | null;
  /** Whether an IP address is in one of the key's ranges; undefined for a key without ranges. */
  readonly allowsAddress: ((address: string) => boolean) | undefined;
  /** How many IP ranges the key has, for the memory of remembered facts. 0 for an API key, which is remembered in another form. */
  readonly ipRangeCount: number;
  readonly consumer: ConsumerFacts | null;
}

/** The consumer that a key was issued to. */
export interface ConsumerFacts {
  readonly id: ConsumerId;
  readonly externalId: string;
  readonly version: number;
  /** The limits that all keys of the consumer share. */
  readonly limits: readonly NamedLimit[];
}
