import { maxLength } from "@latchkey/limits";
import type { Workspace } from "../../server/trpc.ts";
import { collapseSpaces } from "../../ui/collapse-spaces.ts";
import { countOf } from "../../ui/count.ts";
import { describeLengthError } from "../../ui/describe-length-error.ts";

/** The editable fields of a workspace. */
export type WorkspaceValues = Pick<Workspace, "name" | "description">;

/** Validates each field. Returns the error to show, or null if the value is valid. */
export const workspaceRules: { [Field in keyof WorkspaceValues]: (text: string) => string | null } = {
  name(name) {
    const collapsed = collapseSpaces(name);
    return collapsed === ""
      ? "Enter a name, for example your team’s name."
      : describeLengthError(collapsed, maxLength.workspaceName);
  },
  description: (description) => describeLengthError(description.trim(), maxLength.workspaceDescription),
};

/** The label of each field. */
export const workspaceLabels: { readonly [Field in keyof WorkspaceValues]: string } = {
  name: "Name",
  description: "Description",
};

const fields = Object.keys(workspaceRules) as (keyof WorkspaceValues)[]; // Its keys are exactly these.

/** Returns the editable fields of a workspace. */
export function valuesOf(workspace: WorkspaceValues): WorkspaceValues {
  // During a rolling upgrade, a node of an earlier version answers without a description.
  return { name: workspace.name, description: workspace.description ?? "" };
}

/**
 * Returns the values as the API stores them: whitespace in the name collapsed, the description
 * trimmed.
 */
export function normalizeValues({ name, description }: WorkspaceValues): WorkspaceValues {
  return { name: collapseSpaces(name), description: description.trim() };
}

/** The fields that differ, with the values of `after`. */
export function changesBetween(before: WorkspaceValues, after: WorkspaceValues): Partial<WorkspaceValues> {
  const changed = fields.filter((field) => before[field] !== after[field]);
  return Object.fromEntries(changed.map((field) => [field, after[field]]));
}

/** How long the audit log is kept. */
export function describeRetention(days: number | null): string {
  // During a rolling upgrade, a node of an earlier version answers without a retention.
  return typeof days !== "number" ? "Kept forever" : `Kept for ${countOf(days, "day", "days")}`;
}
