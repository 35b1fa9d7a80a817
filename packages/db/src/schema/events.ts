import type { ColumnType } from "kysely";
import type {
  AccountAction,
  Actor,
  AuditAction,
  auditActions,
  Details,
  KeyAction,
  SystemActor,
} from "../audit-actions.ts";
import type { AuditEventId, InstanceEventId, KeyId, SecurityEventId, UserId, WorkspaceId } from "../ids.ts";
import type { InstanceAction, InstanceActorKind } from "../instance-actions.ts";

// Logs of changes.

/** A change in a workspace. Rows are added and never changed. */
export interface AuditEventTable {
  workspace_id: WorkspaceId;
  id: AuditEventId;
  occurred_at: ColumnType<Date, never, never>;
  action: AuditAction;
  actor_kind: (Actor | SystemActor)["kind"];
  actor_user_id: UserId | null;
  actor_key_id: KeyId | null;
  target_kind: (typeof auditActions)[AuditAction];
  target_id: string;
  /** The owner of the API key; null for other targets and for events of earlier versions. */
  target_owner_id: ColumnType<UserId | null, UserId | null | undefined, never>;
  before: ColumnType<Details | null, string | null, never>;
  after: ColumnType<Details | null, string | null, never>;
  address: string | null;
  request_id: string | null;
}

/** A change that concerns the security of a user's account. Rows are added and never changed. */
export interface SecurityEventTable {
  user_id: UserId;
  id: SecurityEventId;
  occurred_at: ColumnType<Date, never, never>;
  action: KeyAction | AccountAction;
  /** `session` for a failed sign-in too, because migrations only add to the schema. */
  actor_kind: Actor["kind"];
  /** The API key that made the change. */
  actor_key_id: KeyId | null;
  /** The API key that was changed. */
  key_id: KeyId | null;
  before: ColumnType<Details | null, string | null, never>;
  after: ColumnType<Details | null, string | null, never>;
  address: string | null;
  request_id: string | null;
  user_agent: string | null;
}

/** A change by an operator, or the deletion of a user or workspace. Rows are added and never changed. */
export interface InstanceEventTable {
  id: InstanceEventId;
  occurred_at: ColumnType<Date, never, never>;
  action: InstanceAction;
  actor_kind: InstanceActorKind;
  actor_id: UserId | null;
  actor_name: string | null;
  actor_email: string | null;
  target_user_id: UserId | null;
  target_user_name: string | null;
  target_user_email: string | null;
  target_workspace_id: WorkspaceId | null;
  target_workspace_name: string | null;
  target_key_id: KeyId | null;
  before: ColumnType<Details | null, string | null, never>;
  after: ColumnType<Details | null, string | null, never>;
  address: string | null;
  request_id: string | null;
}
