import type { ColumnType, Generated } from "kysely";
import type { KeyId, KeyRejectionId, WorkspaceId } from "../ids.ts";

// Requests with API keys.

/** The number of requests with a key that had one outcome in one hour, in one workspace or in none. */
export interface KeyUsageHourTable {
  key_id: KeyId;
  hour: Date;
  workspace_id: WorkspaceId | null;
  outcome: string;
  count: number;
}

/** The number of requests in a workspace that had one outcome in one hour, added up over all keys. */
export interface WorkspaceUsageHourTable {
  workspace_id: WorkspaceId;
  hour: Date;
  outcome: string;
  count: number;
}

/** The number of requests with a key that were allowed in a workspace on one day. */
export interface WorkspaceKeyDayTable {
  workspace_id: WorkspaceId;
  key_id: KeyId;
  /** In UTC, as `YYYY-MM-DD`. */
  day: ColumnType<never, string, never>;
  use_count: number;
  /** The beginning of the hour of the last of these requests. */
  last_used_at: Date;
}

/** An address that a key was used from. */
export interface KeyAddressTable {
  key_id: KeyId;
  address: string;
  /** Accurate to one minute. */
  last_seen_at: Date;
}

/** A network that a key was used from: an IPv4 /24 or an IPv6 /48 network. */
export interface KeyNetworkTable {
  key_id: KeyId;
  network: string;
  first_seen_at: Date;
  /** Accurate to one day. */
  last_seen_at: Date;
  /** Whether the job that finds notices has decided about it. */
  is_reviewed: Generated<boolean>;
}

/** A rejected request with a key. */
export interface KeyRejectionTable {
  key_id: KeyId;
  id: KeyRejectionId;
  occurred_at: Date;
  address: string | null;
  method: string;
  path: string;
  request_id: string;
  reason: string;
}
