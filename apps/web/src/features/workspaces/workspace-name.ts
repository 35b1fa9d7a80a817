import { maxLength } from "@latchkey/limits";
import { collapseSpaces } from "../../ui/collapse-spaces.ts";
import { describeExcess } from "../../ui/describe-excess.ts";

/** What to do about the name of a workspace, or null where it is good. */
export function checkWorkspaceName(name: string): string | null {
  const { length } = collapseSpaces(name);
  if (length === 0) return "Enter a name, such as that of your team.";
  return describeExcess(length, maxLength.workspaceName);
}
