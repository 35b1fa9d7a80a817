import {
  type AccountAction,
  type Actor,
  type AuditAction,
  accountActions,
  auditActions,
} from "./audit-actions.ts";

/** Actions that only the instance log has. */
const ownActions = [
  "audit-log.exported",
  "backup.created",
  "backup.restored",
  "operator.granted",
  "operator.revoked",
  "registration.changed",
  "user.created",
  "user.deleted",
  "user.disabled",
  "user.enabled",
  "webhook.redelivered",
  "webhook.tested",
  "workspace.deleted",
] as const;

/** What an operator does, in the web app or with the command, and the deletion of users and workspaces by anyone. */
export type InstanceAction = (typeof ownActions)[number] | AccountAction | AuditAction;

export const instanceActions: readonly InstanceAction[] = [
  ...ownActions,
  ...accountActions,
  ...(Object.keys(auditActions) as AuditAction[]), // The keys of the table.
].sort();

/** `configuration`: the environment of a node that started. */
export type InstanceActorKind = Actor["kind"] | "configuration";
