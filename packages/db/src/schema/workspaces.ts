import type { Generated } from "kysely";
import type { InvitationId, UserId, WorkspaceId } from "../ids.ts";
import type { Role } from "../role.ts";
import type { CreatedAt } from "./columns.ts";

// Workspaces and their members.

/** A tenant. */
export interface WorkspaceTable {
  id: WorkspaceId;
  name: string;
  /** At most 500 characters; empty by default. */
  description: Generated<string>;
  /** Identifies the workspace in the web app's URLs. Lower-case letters, digits and hyphens. */
  slug: string;
  created_at: CreatedAt;
  updated_at: Generated<Date>;
  /** Incremented with every change to the settings. */
  version: Generated<number>;
  requires_second_factor: Generated<boolean>;
  /** Null keeps the audit log forever. */
  audit_retention_days: Generated<number | null>;
  /** When an operator disabled the workspace. */
  disabled_at: Date | null;
}

/** A deleted workspace whose audit events, deliveries and blocked API keys may not be purged yet. */
export interface DeletedWorkspaceTable {
  workspace_id: WorkspaceId;
  deleted_at: CreatedAt;
  /** When the purge looks for rows again. */
  next_purge_at: Generated<Date>;
}

export interface MemberTable {
  workspace_id: WorkspaceId;
  user_id: UserId;
  role: Role;
  created_at: CreatedAt;
  /** Incremented with every change to the role. */
  version: Generated<number>;
}

/** A pending invitation to a workspace. Its row is deleted when the invitation is accepted. */
export interface InvitationTable {
  workspace_id: WorkspaceId;
  id: InvitationId;
  /** In lower case. One invitation per address and workspace. */
  email: string;
  role: Role;
  /** The user who sent it last; null for the `latchkey` command. */
  invited_by: UserId | null;
  /** Whether the link was emailed, rather than shown to the inviter. */
  is_emailed: boolean;
  created_at: CreatedAt;
  expires_at: Date;
}

/** An owner's offer to transfer ownership of a workspace. At most one per workspace. */
export interface OwnershipTransferTable {
  workspace_id: WorkspaceId;
  from_user_id: UserId;
  to_user_id: UserId;
  created_at: CreatedAt;
  expires_at: Date;
}
