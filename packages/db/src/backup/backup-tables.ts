import type { Database } from "../schema.ts";

/** What a backup contains, in the order in which it can be restored. The history of migrations is in its header. */
export const backupTables = [
  "users",
  "accounts",
  "sessions",
  "sign_in_origins",
  "verifications",
  "throttle_buckets",
  "idempotency_records",
  "workspaces",
  "members",
  "audit_events",
  "api_keys",
  "security_events",
  "retired_secrets",
  "key_counters",
  "key_usage_hours",
  "key_addresses",
  "key_refusals",
] as const satisfies readonly (keyof Database)[];

/** The name of a table that a backup contains. */
export type BackupTable = (typeof backupTables)[number];

/**
 * Tables whose rows don't make a database one that is in use: a server that nobody has signed up to can have them. They are
 * emptied before a backup is restored.
 */
export const disposableTables: readonly BackupTable[] = ["throttle_buckets"];
