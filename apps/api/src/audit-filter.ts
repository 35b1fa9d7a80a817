import type { AuditFilter } from "@latchkey/db/audit-log";
import type { z } from "zod";
import { auditTargetId, instant, userId } from "./fields.ts";
import { auditAction } from "./presenters/audit-event.ts";

/** The filters of an audit log, for the open API, tRPC, exports and the command. */
export const auditFilterInput = {
  action: auditAction.optional(),
  actorId: userId.optional(),
  targetId: auditTargetId.optional(),
  /** Only events at this time or later. */
  from: instant.optional(),
  /** Only events before this time. */
  to: instant.optional(),
};

type AuditFilterInput = {
  readonly [Name in keyof typeof auditFilterInput]?: z.output<(typeof auditFilterInput)[Name]>;
};

export function toAuditFilter({ action, actorId, targetId, from, to }: AuditFilterInput): AuditFilter {
  return { action, actorUserId: actorId, targetId, from, to };
}
