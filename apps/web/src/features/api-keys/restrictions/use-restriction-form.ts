import { type UseFormReturnType, useForm } from "@mantine/form";
import { describeFailure } from "../../../server/failure.ts";
import { focusFirstError } from "../../../ui/focus-first-error.ts";
import { findRestrictionField, type RestrictionValues, restrictionRules } from "./restriction-values.ts";

export type RestrictionForm = UseFormReturnType<RestrictionValues>;

export function useRestrictionForm(initialValues: RestrictionValues): RestrictionForm {
  return useForm<RestrictionValues>({ mode: "controlled", initialValues, validate: restrictionRules });
}

/**
 * Validates the restrictions and focuses the first invalid field. Returns whether they are valid.
 */
export function validateRestrictions(form: RestrictionForm): boolean {
  const { hasErrors, errors } = form.validate();
  // Waits for the next frame, because an error can expand the collapsed fields.
  if (hasErrors) requestAnimationFrame(() => focusFirstError(form.getInputNode)(errors));
  return !hasErrors;
}

/**
 * Shows the issues of a rejected request under their fields. Returns whether any is about a
 * restriction.
 */
export function showRestrictionIssues(form: RestrictionForm, error: unknown): boolean {
  const ranges = form.values.ipRanges.split(/[\s,]+/).filter((range) => range !== "");
  let isShown = false;
  for (const { path, message } of describeFailure(error).issues) {
    const field = findRestrictionField(path);
    if (!field) continue;
    const range = field === "ipRanges" && ranges[Number(path.split(".").at(-1))];
    form.setFieldError(field, range ? `${range}: ${message}` : message);
    if (!isShown) form.getInputNode(field)?.focus();
    isShown = true;
  }
  return isShown;
}
