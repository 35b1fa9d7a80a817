import type { ColumnType, Generated } from "kysely";
import type { ConsumerId, IssuedKeyId, KeyspaceId, WorkspaceId } from "../ids.ts";
import type { Credits, NamedLimit, Refill } from "../issued-key-settings.ts";
import type { CreatedAt, JsonColumn } from "./columns.ts";

// Keyspaces, their consumers and their keys.

/** A named set of keys that a workspace issues to the consumers of its own API. */
export interface KeyspaceTable {
  workspace_id: WorkspaceId;
  id: KeyspaceId;
  name: string;
  /** Its keys start with this prefix and an underscore. */
  prefix: string;
  /** A label, such as `production`; empty by default. */
  environment: Generated<string>;
  /** The lifetime of new keys that are created without an expiry; null for no expiry. */
  default_lifetime_days: number | null;
  default_permissions: ColumnType<readonly string[], readonly string[] | undefined, readonly string[]>;
  default_limits: JsonColumn<readonly NamedLimit[]>;
  default_credits: JsonColumn<Credits | null>;
  disabled_at: Date | null;
  created_at: CreatedAt;
  updated_at: Generated<Date>;
  /** Incremented with every change to the settings. */
  version: Generated<number>;
}

/** A deleted keyspace whose keys and consumers are not yet purged. */
export interface DeletedKeyspaceTable {
  id: KeyspaceId;
  workspace_id: WorkspaceId;
  deleted_at: CreatedAt;
}

/** The customer or user of a workspace's own API that keys belong to. It is created with its first key. */
export interface ConsumerTable {
  workspace_id: WorkspaceId;
  keyspace_id: KeyspaceId;
  id: ConsumerId;
  external_id: string;
  /** The external ID in lower case. */
  external_id_search: ColumnType<string, never, never>;
  /** Limits that all keys of the consumer share. */
  limits: JsonColumn<readonly NamedLimit[]>;
  created_at: CreatedAt;
  updated_at: Generated<Date>;
  /**
   * When the consumer last lost a key or its limits changed; null after the purge found it in use, or since a key was added.
   */
  unused_since: ColumnType<Date | null, Date | null | undefined, Date | null>;
  /** Incremented with every change to the limits. */
  version: Generated<number>;
}

/** A key of a keyspace. Its balance of credits is in `key_counters`. */
export interface IssuedKeyTable {
  workspace_id: WorkspaceId;
  keyspace_id: KeyspaceId;
  id: IssuedKeyId;
  consumer_id: ConsumerId | null;
  /** SHA-256 of the whole secret, 32 bytes. */
  hash: Buffer;
  /** The first characters of the secret, by which people recognize the key. */
  start: string;
  name: Generated<string>;
  /** The name in lower case. */
  name_search: ColumnType<string, never, never>;
  meta: JsonColumn<Readonly<Record<string, unknown>>>;
  permissions: ColumnType<readonly string[], readonly string[] | undefined, readonly string[]>;
  limits: JsonColumn<readonly NamedLimit[]>;
  refill: JsonColumn<Refill | null>;
  expires_at: Date | null;
  /** When the key expires; the end of the year 9999 for never. */
  listed_expiry: ColumnType<Date, never, never>;
  disabled_at: Date | null;
  /** The IP ranges that the key may be used from, in CIDR notation; null for any address. */
  ip_ranges: readonly string[] | null;
  created_at: CreatedAt;
  updated_at: Generated<Date>;
  /** Incremented with every change to the settings, and with every rotation. */
  version: Generated<number>;
}

/** A permission of an issued key, by which keys are listed. Triggers write it. */
export interface IssuedKeyPermissionTable {
  workspace_id: ColumnType<WorkspaceId, never, never>;
  keyspace_id: ColumnType<KeyspaceId, never, never>;
  permission: ColumnType<string, never, never>;
  created_at: ColumnType<Date, never, never>;
  key_id: ColumnType<IssuedKeyId, never, never>;
}

/** The numbers of stored keys and consumers of a keyspace, including a deleted one that is not yet purged. Triggers write it. */
export interface IssuedKeyCountTable {
  workspace_id: WorkspaceId;
  keyspace_id: KeyspaceId;
  key_count: ColumnType<number, never, never>;
  consumer_count: ColumnType<number, never, never>;
}

/** A secret of an issued key that was replaced by another one. */
export interface RetiredIssuedSecretTable {
  hash: Buffer;
  workspace_id: WorkspaceId;
  keyspace_id: KeyspaceId;
  key_id: IssuedKeyId;
  start: string;
  retired_at: CreatedAt;
  /** When the overlap ends or ended. */
  good_until: Date;
}
