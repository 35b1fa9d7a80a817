import type { DatabaseRole } from "./connection.ts";

// Every start compares this with the database, and a test with a fresh one.

/** A policy; permissive by default. */
export interface PolicyRule {
  readonly table: string;
  readonly name: string;
  readonly role: DatabaseRole | "pg_database_owner";
  readonly command: "all" | "select" | "delete";
  readonly isRestrictive?: true;
  /** The expression, as Postgres prints it. */
  readonly using: string;
}

/** Row-level security is enabled and forced for every table with a policy. */
export const policies: readonly PolicyRule[] = [
  ...[
    "api_key_policies",
    "audit_events",
    "consumers",
    "deleted_keyspaces",
    "deleted_webhooks",
    "deleted_workspaces",
    "invitations",
    "issued_key_counts",
    "issued_key_permissions",
    "issued_key_rejections",
    "issued_keys",
    "key_usage_hours",
    "keyspace_tag_hours",
    "keyspace_usage_days",
    "keyspace_usage_hours",
    "keyspaces",
    "members",
    "ownership_transfers",
    "retired_issued_secrets",
    "webhook_deliveries",
    "webhooks",
    "workspace_key_access",
    "workspace_key_days",
    "workspace_usage_hours",
    "workspaces",
  ].map((table) => {
    return {
      table,
      name: "backup",
      role: "pg_database_owner",
      command: "select",
      using: "require_backup()",
    } as const;
  }),
  {
    table: "api_key_policies",
    name: "admission",
    role: "latchkey_admission",
    command: "select",
    using: "true",
  },
  {
    table: "api_key_policies",
    name: "named_workspace",
    role: "latchkey_tenant",
    command: "all",
    using: "(workspace_id = named_workspace())",
  },
  {
    table: "api_key_policies",
    name: "own_memberships",
    role: "latchkey_tenant",
    command: "select",
    using: "is_own_workspace(workspace_id)",
  },
  {
    // For operators, who see how many events there are: the role can read no column but the workspace.
    table: "audit_events",
    name: "admission",
    role: "latchkey_admission",
    command: "select",
    using: "true",
  },
  {
    table: "audit_events",
    name: "named_workspace",
    role: "latchkey_tenant",
    command: "all",
    using: "(workspace_id = named_workspace())",
  },
  {
    // Denies the deletion of events that an existing workspace keeps.
    table: "audit_events",
    name: "retention",
    role: "latchkey_tenant",
    command: "delete",
    isRestrictive: true,
    using: "is_past_retention(workspace_id, occurred_at)",
  },
  ...[
    "consumers",
    "deleted_keyspaces",
    "deleted_webhooks",
    "deleted_workspaces",
    "issued_keys",
    "keyspaces",
    "retired_issued_secrets",
  ].map((table) => {
    return {
      table,
      name: "admission",
      role: "latchkey_admission",
      command: "select",
      using: "true",
    } as const;
  }),
  ...[
    "consumers",
    "deleted_keyspaces",
    "deleted_webhooks",
    "deleted_workspaces",
    "invitations",
    "issued_key_counts",
    "issued_key_permissions",
    "issued_keys",
    "keyspaces",
    "retired_issued_secrets",
  ].map((table) => {
    return {
      table,
      name: "named_workspace",
      role: "latchkey_tenant",
      command: "all",
      using: "(workspace_id = named_workspace())",
    } as const;
  }),
  {
    table: "key_usage_hours",
    name: "admission",
    role: "latchkey_admission",
    command: "all",
    using: "true",
  },
  {
    table: "key_usage_hours",
    name: "named_workspace",
    role: "latchkey_tenant",
    command: "select",
    using: "(workspace_id = named_workspace())",
  },
  {
    table: "key_usage_hours",
    name: "own_keys",
    role: "latchkey_tenant",
    command: "select",
    using: "is_own_key(key_id)",
  },
  {
    // Postgres evaluates this policy before the others, because its name sorts last (migration 0013).
    table: "key_usage_hours",
    name: "workspace_uses",
    role: "latchkey_tenant",
    command: "select",
    using: "(workspace_id = named_workspace())",
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
  ...["webhook_deliveries", "webhooks"].map((table) => {
    return {
      table,
      name: "named_workspace",
      role: "latchkey_tenant",
      command: "all",
      using: "(workspace_id = named_workspace())",
    } as const;
  }),
  ...[
    "issued_key_rejections",
    "keyspace_tag_hours",
    "keyspace_usage_days",
    "keyspace_usage_hours",
    "workspace_key_days",
    "workspace_usage_hours",
  ].flatMap((table): PolicyRule[] => [
    { table, name: "admission", role: "latchkey_admission", command: "all", using: "true" },
    {
      table,
      name: "named_workspace",
      role: "latchkey_tenant",
      command: "select",
      using: "(workspace_id = named_workspace())",
    },
  ]),
  {
    table: "ownership_transfers",
    name: "named_workspace",
    role: "latchkey_tenant",
    command: "all",
    using: "(workspace_id = named_workspace())",
  },
  {
    table: "workspace_key_access",
    name: "admission",
    role: "latchkey_admission",
    command: "select",
    using: "true",
  },
  {
    table: "workspace_key_access",
    name: "named_workspace",
    role: "latchkey_tenant",
    command: "all",
    using: "(workspace_id = named_workspace())",
  },
  {
    table: "workspace_key_access",
    name: "own_keys",
    role: "latchkey_tenant",
    command: "select",
    using: "is_own_key(key_id)",
  },
  {
    table: "workspaces",
    name: "admission",
    role: "latchkey_admission",
    command: "select",
    using: "true",
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
