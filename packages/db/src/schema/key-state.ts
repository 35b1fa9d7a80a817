import type { Generated } from "kysely";
import type { ConsumerId, IssuedKeyId, KeyId, KeyspaceId, UserId, WorkspaceId } from "../ids.ts";
import type { JsonColumn } from "./columns.ts";

// What admission and verification read and update with each request.

/**
 * The row of a key that admission updates, narrow and updated in place. `version` is incremented with every change that
 * could turn an allowed request into a rejected one or the reverse. A use is counted only if the version is the
 * expected one.
 */
export interface KeyCounterTable {
  /** An API key, an issued key, or a consumer, whose row has only the windows of its limits. */
  key_id: KeyId | IssuedKeyId | ConsumerId;
  version: Generated<number>;
  /** The uses of a key, except those of an issued key that its row of `issued_key_uses` counts. */
  use_count: Generated<number>;
  last_used_at: Date | null;
  /**
   * When the rate limit's window ends or ended. Null, like the next two columns, for a key that never had a rate limit.
   */
  window_ends_at: Date | null;
  /** How many uses the rate limit has allowed in the window. */
  window_spent: number | null;
  /** How many uses of the last increment the rate limit has allowed. */
  last_granted: number | null;
  /**
   * True from the creation of an issued key, or from a rotation, until exactly the first use of the new secret, or its first valid
   * verification, and then false. Null for an API key that was never rotated, whose secret is unused as long as `use_count` is 0, and
   * for an imported key, which has no secret to replace. Earlier versions wrote null instead of false.
   */
  has_unused_secret: boolean | null;
  /** The balance of an issued key; null without credits. */
  credits: number | null;
  /** When the balance was last set or refilled. A refill that was due since then is added at the next use. */
  credits_refilled_at: Date | null;
  /** The windows of named limits, of an issued key or a consumer. */
  windows: JsonColumn<unknown>;
}

/**
 * Uses of an issued key that were counted without its counter, and are not part of the counter's count. A key has a row from its first
 * use until its next change, if it has no meters.
 */
export interface IssuedKeyUseTable {
  key_id: IssuedKeyId;
  /** The version of the key's counter. */
  version: number;
  use_count: Generated<number>;
  last_used_at: Date | null;
}

/**
 * The version of an owner of keys, which every change that affects admission by all of the owner's keys increments. Without
 * a row, the version is 0.
 */
export interface OwnerVersionTable {
  owner_id: UserId | WorkspaceId | KeyspaceId | ConsumerId;
  version: number;
}
