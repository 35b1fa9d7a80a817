import type { DatabaseRole } from "./connection.ts";

// Every start compares this with the database, and a test with a fresh one.

const allRows = "select, insert, update, delete";

/** What each role may do with each table, as in a `grant` statement. */
export const grants: Readonly<Record<DatabaseRole, Readonly<Record<string, string>>>> = {
  latchkey_tenant: {
    accounts: allRows,
    api_key_policies: allRows,
    api_keys: allRows,
    audit_events: "select, insert, delete",
    consumers: allRows,
    deleted_keyspaces: "select, insert, delete",
    deleted_webhooks: "select, insert, delete, update (deleted_at, next_purge_at)",
    deleted_workspaces: "select, insert, delete, update (deleted_at, next_purge_at)",
    former_users: "select, insert",
    idempotency_records: allRows,
    instance_events: "select, insert, delete",
    instance_settings: "select",
    invitations: allRows,
    key_addresses: "select",
    key_networks: "select, delete, update (is_reviewed)",
    issued_key_counts: "select, insert, update (consumer_count, key_count), delete",
    issued_key_permissions: "select, insert, delete",
    issued_key_rejections: "select",
    issued_key_uses: "select",
    issued_keys: allRows,
    key_counters:
      "select, insert, update (credits, credits_refilled_at, has_unused_secret, version, window_ends_at, windows)",
    key_refusals: "select",
    key_usage_hours: "select",
    keyspace_tag_hours: "select",
    keyspace_usage_days: "select",
    keyspace_usage_hours: "select",
    keyspaces: allRows,
    known_devices: allRows,
    members: allRows,
    notice_settings: allRows,
    notices: allRows,
    owner_versions: "select, insert, delete, update (version)",
    ownership_transfers: "select, insert, delete",
    identities: allRows,
    passkeys: allRows,
    recovery_codes: allRows,
    retired_issued_secrets: "select, insert, update (good_until), delete",
    retired_secrets: "select, insert, update (good_until), delete",
    security_events: "select, insert",
    sessions: allRows,
    sign_in_origins: allRows,
    throttle_buckets: allRows,
    totp_factors: allRows,
    users: allRows,
    verifications: allRows,
    webhook_deliveries: allRows,
    webhooks: allRows,
    workspace_key_days: "select",
    workspace_usage_hours: "select",
    workspace_key_access: allRows,
    workspaces: allRows,
  },
  latchkey_admission: {
    api_key_policies:
      "select (are_ip_ranges_required, is_expiry_required, max_idle_days, max_lifetime_days, workspace_id)",
    api_keys:
      "select (created_at, deleted_at, disabled_at, expires_at, hash, id, ip_ranges, is_read_only, limit_quota, limit_window_seconds, permissions, user_id, workspace_ids)",
    audit_events: "select (workspace_id)",
    consumers: "select (external_id, id, keyspace_id, limits, unused_since, workspace_id)",
    deleted_keyspaces: "select",
    deleted_webhooks: "select",
    deleted_workspaces: "select",
    issued_key_rejections: allRows,
    issued_key_uses: "select, insert (key_id, version), update (last_used_at, use_count)",
    issued_keys: "select",
    idempotency_records:
      "insert (answer, key, method, path, request_hash, status, user_id), select (answer, created_at, key, method, path, request_hash, status, user_id), update (answer, created_at, request_hash, status)",
    key_addresses: allRows,
    key_counters:
      "select, update (credits, credits_refilled_at, has_unused_secret, last_granted, last_used_at, use_count, window_ends_at, window_spent, windows)",
    key_networks: allRows,
    key_refusals: allRows,
    key_usage_hours: allRows,
    keyspace_tag_hours: allRows,
    keyspace_usage_days: allRows,
    keyspace_usage_hours: allRows,
    keyspaces: "select (disabled_at, id, workspace_id)",
    members: "select (created_at, role, user_id, workspace_id)",
    migrations: "select (name)",
    owner_versions: "select",
    passkeys: "select (user_id)",
    retired_issued_secrets: "select",
    retired_secrets:
      "select (good_until, hash, key_id, last_used_at, refused_at, retired_at), update (last_used_at, refused_address, refused_at)",
    totp_factors: "select (confirmed_at, user_id)",
    users: "select (disabled_at, id, service_workspace_id)",
    workspace_key_access: "select (allowed_at, blocked_at, key_id, workspace_id)",
    workspace_key_days: allRows,
    workspace_usage_hours: allRows,
    workspaces:
      "select (audit_retention_days, created_at, disabled_at, id, name, requires_second_factor, slug)",
  },
};

/** A privilege on a table, or on one of its columns. */
interface Grant {
  readonly role: string;
  readonly table: string;
  readonly privilege: string;
  readonly column: string | null;
}

/** Every privilege that the rules grant. */
export function listGrants(): Grant[] {
  return Object.entries(grants).flatMap(([role, tables]) =>
    Object.entries(tables).flatMap(([table, privileges]) =>
      [...privileges.matchAll(/(\w+)(?: \(([^)]*)\))?/g)].flatMap(([, privilege = "", columns]) =>
        (columns?.split(", ") ?? [null]).map((column) => ({ role, table, privilege, column })),
      ),
    ),
  );
}
