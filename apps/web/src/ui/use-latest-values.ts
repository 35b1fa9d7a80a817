import type { UseFormReturnType } from "@mantine/form";
import { useEffect, useRef } from "react";
import { changedFields } from "./changed-fields.ts";
import { keepInput } from "./keep-input.ts";

/**
 * Keeps a form on the latest values of what it edits: if these change, fields that the user edited keep their input, and the
 * others show the latest values. Resetting the form shows the latest values too.
 * @param groups Fields that form one setting: if the user edited one of them, all keep their input.
 */
export function useLatestValues<Values extends object>(
  form: UseFormReturnType<Values>,
  latest: Values,
  groups: readonly (readonly (keyof Values)[])[] = [],
): void {
  const base = useRef(latest);
  useEffect(() => {
    if (Object.keys(changedFields(base.current, latest)).length === 0) return;
    const values = keepInput({ base: base.current, input: form.getValues(), latest, groups });
    base.current = latest;
    // A form that was just saved shows these values already. Setting them again would replace its fields, which lose the focus.
    if (Object.keys(changedFields(form.getInitialValues(), latest)).length === 0) return;
    form.resetDirty(latest);
    form.setValues(values);
  });
}
