import type { ColumnType } from "kysely";
import type { ConsumerId, IssuedKeyId, KeyRejectionId, KeyspaceId, WorkspaceId } from "../ids.ts";

// Verifications of issued keys.

/**
 * The number of verifications of the keys of a keyspace that had one outcome in one hour: of all keys, of one key, or of the
 * keys of one consumer.
 */
export interface KeyspaceUsageHourTable {
  workspace_id: WorkspaceId;
  subject_id: KeyspaceId | IssuedKeyId | ConsumerId;
  hour: Date;
  outcome: string;
  count: number;
}

/** The number of verifications of an issued key, or of the keys of a consumer, on one day. */
export interface KeyspaceUsageDayTable {
  workspace_id: WorkspaceId;
  keyspace_id: KeyspaceId;
  subject_id: IssuedKeyId | ConsumerId;
  is_consumer: boolean;
  /** In UTC, as `YYYY-MM-DD`. */
  day: ColumnType<never, string, never>;
  count: number;
  /** The verifications that were uses. */
  use_count: number;
  /** The binary logarithm of `count`, rounded down. */
  magnitude: number;
}

/** The number of verifications with a tag in one hour. */
export interface KeyspaceTagHourTable {
  workspace_id: WorkspaceId;
  keyspace_id: KeyspaceId;
  hour: Date;
  tag: string;
  count: number;
  /** The verifications that were uses. */
  use_count: number;
}

/** One of the latest rejected verifications of an issued key. */
export interface IssuedKeyRejectionTable {
  workspace_id: WorkspaceId;
  key_id: IssuedKeyId;
  id: KeyRejectionId;
  occurred_at: Date;
  code: string;
  /** The IP address of the consumer; null if the verification named none. */
  address: string | null;
  request_id: string;
}
