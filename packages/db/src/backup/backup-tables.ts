import type { Database } from "../schema.ts";

/**
 * The tables in a backup, in the order in which they can be restored. The header contains the history of migrations.
 */
export const backupTables = [
  "users",
  "former_users",
  "accounts",
  "sessions",
  "sign_in_origins",
  "known_devices",
  "notice_settings",
  "notices",
  "totp_factors",
  "recovery_codes",
  "passkeys",
  "identities",
  "verifications",
  "throttle_buckets",
  "idempotency_records",
  "workspaces",
  "deleted_workspaces",
  "members",
  "invitations",
  "ownership_transfers",
  "api_key_policies",
  "audit_events",
  "webhooks",
  "webhook_deliveries",
  "deleted_webhooks",
  "keyspaces",
  "deleted_keyspaces",
  "consumers",
  "issued_keys",
  "issued_key_counts",
  "issued_key_permissions",
  "retired_issued_secrets",
  "api_keys",
  "workspace_key_access",
  "security_events",
  "instance_events",
  "instance_settings",
  "retired_secrets",
  "key_counters",
  "issued_key_uses",
  "owner_versions",
  "key_usage_hours",
  "workspace_usage_hours",
  "workspace_key_days",
  "key_addresses",
  "key_networks",
  "key_refusals",
  "keyspace_usage_hours",
  "keyspace_usage_days",
  "keyspace_tag_hours",
  "issued_key_rejections",
] as const satisfies readonly (keyof Database)[];

/** The name of a table that a backup contains. */
export type BackupTable = (typeof backupTables)[number];

/**
 * Tables that may have rows in an unused database, because a server without users can add them. They are emptied before
 * a backup is restored.
 */
export const disposableTables: readonly BackupTable[] = [
  "verifications",
  "throttle_buckets",
  "instance_events",
  "instance_settings",
];
