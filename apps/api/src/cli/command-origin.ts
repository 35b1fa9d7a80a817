import type { Origin } from "@latchkey/db/audit-actions";

/** Where everything that the command changes comes from, as the audit log has it. */
export const commandOrigin = {
  actor: { kind: "command" },
  address: null,
  requestId: null,
} as const satisfies Origin;
