import type { UseFormReturnType } from "@mantine/form";
import { describeFailure, type Failure } from "./failure.ts";

/** Returns the field of a form in which the value at a path of the API is entered; undefined if there is none. */
export type FieldOf<Values> = (path: string, values: Values) => string | undefined;

/**
 * Shows the field errors of a rejected call under the fields of a form, and focuses the first of
 * these fields.
 * @param fieldOf by default, fields have the names of the API.
 */
export function showIssues<Values extends object>(
  form: UseFormReturnType<Values>,
  error: unknown,
  fieldOf?: FieldOf<Values>,
): void {
  const issues = issuesOf(form, describeFailure(error), fieldOf);
  for (const { field, message } of issues) form.setFieldError(field, message);
  if (issues[0]) form.getInputNode(issues[0].field)?.focus();
}

/**
 * Whether a failure has an error for a field of the form. If not, the form shows the failure as a
 * whole.
 */
export function hasIssueOf<Values extends object>(
  form: UseFormReturnType<Values>,
  failure: Failure,
  fieldOf?: FieldOf<Values>,
): boolean {
  return issuesOf(form, failure, fieldOf).length > 0;
}

function issuesOf<Values extends object>(
  form: UseFormReturnType<Values>,
  { issues }: Failure,
  fieldOf: FieldOf<Values> = sameName,
) {
  const values = form.getValues();
  return issues.flatMap(({ path, message }) => {
    const field = fieldOf(path, values);
    return field === undefined ? [] : [{ field, message }];
  });
}

function sameName(path: string, values: object): string | undefined {
  return Object.hasOwn(values, path) ? path : undefined;
}
