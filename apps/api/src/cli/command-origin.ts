import type { Origin } from "@latchkey/db/audit-actions";

/** The origin of the command's changes in the audit log. */
export const commandOrigin = {
  actor: { kind: "command" },
  address: null,
  requestId: null,
} as const satisfies Origin;
