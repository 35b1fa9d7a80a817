import type { UseFormReturnType } from "@mantine/form";
import { describeFailure, type Failure } from "./failure.ts";

/** Shows what a refused call says about the fields of a form under them, and moves the focus to the first one. */
export function showIssues<Values extends object>(form: UseFormReturnType<Values>, error: unknown): void {
  const issues = issuesOf(form, describeFailure(error));
  for (const { path, message } of issues) form.setFieldError(path, message);
  if (issues[0]) form.getInputNode(issues[0].path)?.focus();
}

/** Whether a failure says something about a field of the form; if not, the form shows it as a whole. */
export function hasIssueOf<Values extends object>(
  form: UseFormReturnType<Values>,
  failure: Failure,
): boolean {
  return issuesOf(form, failure).length > 0;
}

function issuesOf<Values extends object>(form: UseFormReturnType<Values>, { issues }: Failure) {
  return issues.filter(({ path }) => Object.hasOwn(form.getValues(), path));
}
