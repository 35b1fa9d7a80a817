import { auditActions } from "@latchkey/db/audit-actions";
import { z } from "zod";
import { auditAction } from "../../presenters/audit-event.ts";

/** The events that a webhook gets, each of which is an option. */
export const webhookActions = z
  .array(z.enum(auditAction.options, `Expected one of ${Object.keys(auditActions).join(", ")}.`))
  .transform((actions) => [...new Set(actions)]);
