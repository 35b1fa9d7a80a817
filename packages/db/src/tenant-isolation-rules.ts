import type { DatabaseRole } from "./connection.ts";

/** What the migrations set up so that tenants are isolated. A test compares these rules with a fresh database. */

const allRows = "select, insert, update, delete";

/** What each role may do with each table, as in a `grant` statement. */
export const grants: Readonly<Record<DatabaseRole, Readonly<Record<string, string>>>> = {
  latchkey_tenant: {
    accounts: allRows,
    api_keys: allRows,
    audit_events: "select, insert",
    idempotency_records: allRows,
    key_addresses: "select",
    key_counters: "select, insert, update (has_unused_secret, version, window_ends_at)",
    key_refusals: "select",
    key_usage_hours: "select",
    members: allRows,
    retired_secrets: "select, insert, update (good_until), delete",
    sessions: allRows,
    sign_in_origins: allRows,
    throttle_buckets: allRows,
    users: allRows,
    verifications: allRows,
    workspaces: allRows,
  },
  latchkey_admission: {
    api_keys:
      "select (deleted_at, disabled_at, expires_at, hash, id, ip_ranges, is_read_only, limit_quota, limit_window_seconds, permissions, user_id, workspace_ids)",
    key_addresses: allRows,
    key_counters:
      "select, update (has_unused_secret, last_granted, last_used_at, use_count, window_ends_at, window_spent)",
    key_refusals: allRows,
    key_usage_hours: allRows,
    members: "select (role, user_id, workspace_id)",
    retired_secrets:
      "select (good_until, hash, key_id, last_used_at, refused_at), update (last_used_at, refused_address, refused_at)",
    users: "select (disabled_at, id)",
  },
};

/** A permissive policy. */
export interface PolicyRule {
  readonly table: string;
  readonly name: string;
  readonly role: DatabaseRole | "pg_database_owner";
  readonly command: "all" | "select";
  /** The expression, as Postgres prints it. */
  readonly using: string;
}

/** Row-level security is enabled and forced for every table with a policy. */
export const policies: readonly PolicyRule[] = [
  ...["audit_events", "key_usage_hours", "members", "workspaces"].map((table) => {
    return {
      table,
      name: "backup",
      role: "pg_database_owner",
      command: "select",
      using: "require_backup()",
    } as const;
  }),
  {
    table: "audit_events",
    name: "named_workspace",
    role: "latchkey_tenant",
    command: "all",
    using: "(workspace_id = named_workspace())",
  },
  {
    table: "key_usage_hours",
    name: "admission",
    role: "latchkey_admission",
    command: "all",
    using: "true",
  },
  {
    table: "key_usage_hours",
    name: "own_keys",
    role: "latchkey_tenant",
    command: "select",
    using: "is_own_key(key_id)",
  },
  {
    table: "members",
    name: "admission",
    role: "latchkey_admission",
    command: "select",
    using: "true",
  },
  {
    table: "members",
    name: "named_workspace",
    role: "latchkey_tenant",
    command: "all",
    using: "(workspace_id = named_workspace())",
  },
  {
    table: "members",
    name: "own_memberships",
    role: "latchkey_tenant",
    command: "select",
    using: "(user_id = named_user())",
  },
  {
    table: "workspaces",
    name: "named_workspace",
    role: "latchkey_tenant",
    command: "all",
    using: "(id = named_workspace())",
  },
  {
    table: "workspaces",
    name: "own_memberships",
    role: "latchkey_tenant",
    command: "select",
    using: "is_own_workspace(id)",
  },
];

/** The functions by their signatures; every role may execute them. */
export const functions: readonly string[] = [
  "delete_counters_of_keys()",
  "is_own_key(uuid)",
  "is_own_workspace(uuid)",
  "name_first_user_operator()",
  "named_user()",
  "named_workspace()",
  "require_backup()",
];

/** The triggers by their names, with the table of each. */
export const triggers: Readonly<Record<string, string>> = {
  delete_counters_of_keys: "api_keys",
  name_first_user_operator: "users",
};
