import type { IssueCode } from "@latchkey/errors";
import type { FieldIssue } from "./failure.ts";
import { describeFailure } from "./failure.ts";

const required: IssueCode = "second_factor_required";

/** Whether a call was rejected because the workspace requires a second factor, which the user doesn't have. */
export function needsSecondFactor(error: unknown): boolean {
  const issues: readonly (FieldIssue & { readonly code?: unknown })[] = describeFailure(error).issues;
  return issues.some(({ code }) => code === required);
}
