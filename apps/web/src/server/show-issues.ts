import type { UseFormReturnType } from "@mantine/form";
import { describeFailure, type Failure } from "./failure.ts";

/**
 * Shows the field errors of a rejected call under the fields of a form, and focuses the first of
 * these fields.
 */
export function showIssues<Values extends object>(form: UseFormReturnType<Values>, error: unknown): void {
  const issues = issuesOf(form, describeFailure(error));
  for (const { path, message } of issues) form.setFieldError(path, message);
  if (issues[0]) form.getInputNode(issues[0].path)?.focus();
}

/**
 * Whether a failure has an error for a field of the form. If not, the form shows the failure as a
 * whole.
 */
export function hasIssueOf<Values extends object>(
  form: UseFormReturnType<Values>,
  failure: Failure,
): boolean {
  return issuesOf(form, failure).length > 0;
}

function issuesOf<Values extends object>(form: UseFormReturnType<Values>, { issues }: Failure) {
  return issues.filter(({ path }) => Object.hasOwn(form.getValues(), path));
}
