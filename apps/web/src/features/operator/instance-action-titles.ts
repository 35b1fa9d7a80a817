import { actionTitles } from "../../server/action-titles.ts";
import { accountActionTitles } from "../../server/security-action-titles.ts";
import type { InstanceEvent } from "../../server/trpc.ts";

export type InstanceAction = InstanceEvent["action"];

/** The label of each action of the instance log, in filters and in the log. */
export const instanceActionTitles = {
  "audit-log.exported": "Audit log exported",
  "backup.created": "Backup created",
  "backup.restored": "Backup restored",
  "operator.granted": "Operator role granted",
  "operator.revoked": "Operator role revoked",
  "registration.changed": "Registration changed",
  "user.created": "User created",
  "user.deleted": "User deleted",
  "user.disabled": "User disabled",
  "user.enabled": "User enabled",
  "webhook.redelivered": "Webhook message redelivered",
  "webhook.tested": "Webhook tested",
  "workspace.deleted": "Workspace deleted",
  ...accountActionTitles,
  "account.renamed": "User renamed",
  ...actionTitles,
} as const satisfies Record<InstanceAction, string>;

export function isInstanceAction(text: unknown): text is InstanceAction {
  return typeof text === "string" && Object.hasOwn(instanceActionTitles, text);
}
