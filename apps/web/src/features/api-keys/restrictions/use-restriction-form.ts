import { type UseFormReturnType, useForm } from "@mantine/form";
import { describeFailure } from "../../../server/failure.ts";
import { findRestrictionField, type RestrictionValues, restrictionRules } from "./restriction-values.ts";

export type RestrictionForm = UseFormReturnType<RestrictionValues>;

export function useRestrictionForm(initialValues: RestrictionValues): RestrictionForm {
  return useForm<RestrictionValues>({ mode: "controlled", initialValues, validate: restrictionRules });
}

/** Shows what a refused call says about restrictions under them; answers whether it said anything. */
export function showRestrictionIssues(form: RestrictionForm, error: unknown): boolean {
  const ranges = form.values.ipRanges.split(/[\s,]+/).filter((range) => range !== "");
  let isShown = false;
  for (const { path, message } of describeFailure(error).issues) {
    const field = findRestrictionField(path);
    if (!field) continue;
    const range = field === "ipRanges" && ranges[Number(path.split(".").at(-1))];
    form.setFieldError(field, range ? `${range}: ${message}` : message);
    isShown = true;
  }
  return isShown;
}
