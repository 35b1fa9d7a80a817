import type { WorkspaceFields } from "@latchkey/db/workspace-fields";
import { auditRetentionDays, maxLength } from "@latchkey/limits";
import { z } from "zod";
import { multilineText, workspaceName } from "./fields.ts";
import { shownText } from "./schemas.ts";

/** Examples of the fields that describe a workspace. */
export const workspaceExamples = { name: "Payments", description: "Keys of the payment services." };

const secondFactorDescription =
  "Whether members need a second factor to use the workspace, in the web app and with their API keys. Service accounts need none.";

/** A number of days, or null to keep the audit log forever. */
export const retention = z
  .int()
  .min(auditRetentionDays.min, `Use at least ${auditRetentionDays.min} days.`)
  .max(auditRetentionDays.max, `Use at most ${auditRetentionDays.max} days.`)
  .nullable()
  .meta({
    description: "The retention of the audit log, in days; null keeps events forever.",
    example: 365,
  });

const maxDigits = String(auditRetentionDays.max).length;
const daysInQuery = new RegExp(`^[1-9][0-9]{0,${maxDigits - 1}}$`);

/** The number of days of a retention to preview. */
export const retentionInQuery = z
  .string()
  .regex(daysInQuery, "must be a number of days")
  .transform(Number)
  .pipe(retention.unwrap())
  .meta({
    description: "The number of days.",
    example: "365",
    override: ({ jsonSchema }: { readonly jsonSchema: Record<string, unknown> }) => {
      Object.assign(jsonSchema, { type: "string", maxLength: maxDigits, pattern: daysInQuery.source });
    },
  });

const fields = {
  name: workspaceName.meta({ example: workspaceExamples.name }),
  description: multilineText(maxLength.workspaceDescription).meta({
    description: "What the workspace is for.",
    example: workspaceExamples.description,
  }),
  requiresSecondFactor: z.boolean().meta({ description: secondFactorDescription, example: false }),
  auditRetentionDays: retention,
} as const satisfies Record<keyof WorkspaceFields, z.ZodType>;

/** The fields of a new workspace; all but the name are optional. A second factor is required later, once members have one. */
export const newWorkspaceFields = { name: fields.name, description: fields.description.optional() };

/** The fields of an edit: those that are left out keep their value. */
export const workspaceFieldChanges = {
  name: fields.name.optional(),
  description: fields.description.optional(),
  requiresSecondFactor: fields.requiresSecondFactor.optional(),
  auditRetentionDays: fields.auditRetentionDays.optional(),
};

/** The members that a presented workspace has for these fields. */
export const shownWorkspaceFields = {
  name: shownText(maxLength.workspaceName).meta({ example: workspaceExamples.name }),
  description: shownText(maxLength.workspaceDescription).meta({
    description: "What the workspace is for; may be empty.",
    example: workspaceExamples.description,
  }),
  requiresSecondFactor: fields.requiresSecondFactor,
  auditRetentionDays: fields.auditRetentionDays,
} as const satisfies Record<keyof WorkspaceFields, z.ZodType>;
