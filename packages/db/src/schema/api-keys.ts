import type { ColumnType, Generated } from "kysely";
import type { KeyId, UserId, WorkspaceId } from "../ids.ts";
import type { CreatedAt } from "./columns.ts";

// API keys, and what workspaces decide about them.

export interface ApiKeyTable {
  id: KeyId;
  user_id: UserId;
  name: string;
  description: string;
  /** The first characters of the secret, by which people recognize the key. */
  start: string;
  /** SHA-256 of the whole secret, 32 bytes. */
  hash: Buffer;
  created_at: CreatedAt;
  updated_at: Generated<Date>;
  deleted_at: Date | null;
  disabled_at: Date | null;
  expires_at: Date | null;
  /** The selected workspaces of a restricted key; null for all workspaces of its user. */
  workspace_ids: readonly WorkspaceId[] | null;
  /** The selected permissions of a restricted key; null for all permissions of its user. */
  permissions: readonly string[] | null;
  is_read_only: Generated<boolean>;
  /** The IP ranges that requests may come from, in CIDR notation; null for any address. */
  ip_ranges: readonly string[] | null;
  /** The most uses per window of `limit_window_seconds`; both are null without a rate limit. */
  limit_quota: number | null;
  limit_window_seconds: number | null;
  /** Incremented with every change that the owner makes. */
  version: Generated<number>;
}

/** A secret of a key that was replaced by another one. */
export interface RetiredSecretTable {
  hash: Buffer;
  key_id: KeyId;
  start: string;
  retired_at: ColumnType<Date, never, never>;
  /** When the overlap ends or ended. */
  good_until: Date;
  /** When a request was last allowed with it, accurate to one minute. */
  last_used_at: ColumnType<Date | null, never, Date>;
  /** When a request with it was last rejected, and the address that the request came from. */
  refused_at: ColumnType<Date | null, never, Date>;
  refused_address: ColumnType<string | null, never, string | null>;
}

/** The policy of a workspace for the API keys that reach it. A workspace without a row accepts every key. */
export interface ApiKeyPolicyTable {
  workspace_id: WorkspaceId;
  /** The longest time from a key's creation or rotation to its expiry. */
  max_lifetime_days: number | null;
  is_expiry_required: Generated<boolean>;
  are_ip_ranges_required: Generated<boolean>;
  /** How long a key may be unused in the workspace. */
  max_idle_days: number | null;
  /** Incremented with every change. */
  version: Generated<number>;
  updated_at: Generated<Date>;
}

/** What the admins of a workspace decided about one key. */
export interface WorkspaceKeyAccessTable {
  workspace_id: WorkspaceId;
  key_id: KeyId;
  /** Null for a key that isn't blocked. */
  blocked_at: Date | null;
  /** The user who blocked it; null for the `latchkey` command and a deleted user. */
  blocked_by: UserId | null;
  /** When an admin last unblocked it, which restarts its idle time. */
  allowed_at: Date | null;
}

/** The response to a request with an `Idempotency-Key`. */
export interface IdempotencyRecordTable {
  user_id: UserId;
  method: string;
  path: string;
  key: string;
  request_hash: Buffer;
  status: number;
  answer: ColumnType<Record<string, unknown> | null, string, string>;
  /** SHA-256 of the secret that the request was made with; null in rows from before it was stored. */
  presented_hash: Buffer | null;
  /** SHA-256 of each secret that the response issued, 32 bytes each, in the order of the response; null if it issued none. */
  issued_hash: Buffer | null;
  created_at: ColumnType<Date, never, Date>;
}
