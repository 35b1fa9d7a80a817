import { maxLength } from "@latchkey/limits";
import type { Workspace } from "../../server/trpc.ts";
import { collapseSpaces } from "../../ui/collapse-spaces.ts";
import { describeExcess } from "../../ui/describe-excess.ts";

/** The fields of a workspace that people edit. */
export type WorkspaceValues = Pick<Workspace, "name" | "description">;

/** What to do about each field, or null if it is valid. */
export const workspaceRules: { [Field in keyof WorkspaceValues]: (text: string) => string | null } = {
  name(name) {
    const { length } = collapseSpaces(name);
    return length === 0
      ? "Enter a name, for example your team’s name."
      : describeExcess(length, maxLength.workspaceName);
  },
  description: (description) => describeExcess(description.trim().length, maxLength.workspaceDescription),
};

/** What each field is called. */
export const workspaceLabels: { readonly [Field in keyof WorkspaceValues]: string } = {
  name: "Name",
  description: "Description",
};

const fields = Object.keys(workspaceRules) as (keyof WorkspaceValues)[]; // Its keys are exactly these.

/** The values of a workspace, without its other facts. */
export function valuesOf(workspace: WorkspaceValues): WorkspaceValues {
  // During a rolling upgrade, a node of an earlier version answers without a description.
  return { name: workspace.name, description: workspace.description ?? "" };
}

/** The values as the API stores them. */
export function tidied({ name, description }: WorkspaceValues): WorkspaceValues {
  return { name: collapseSpaces(name), description: description.trim() };
}

/** The fields that differ, with the values of `after`. */
export function changesBetween(before: WorkspaceValues, after: WorkspaceValues): Partial<WorkspaceValues> {
  const changed = fields.filter((field) => before[field] !== after[field]);
  return Object.fromEntries(changed.map((field) => [field, after[field]]));
}
