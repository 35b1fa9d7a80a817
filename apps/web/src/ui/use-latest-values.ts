import type { UseFormReturnType } from "@mantine/form";
import { useEffect, useRef } from "react";
import { changedFields } from "./changed-fields.ts";

/**
 * Keeps a form on the latest values of what it edits: if these change, fields that the user edited keep their input, and the
 * others show the latest values. Resetting the form shows the latest values too.
 */
export function useLatestValues<Values extends object>(
  form: UseFormReturnType<Values>,
  latest: Values,
): void {
  const base = useRef(latest);
  useEffect(() => {
    if (Object.keys(changedFields(base.current, latest)).length === 0) return;
    const input = changedFields<object>(base.current, form.getValues());
    base.current = latest;
    form.resetDirty(latest);
    form.setValues({ ...latest, ...input });
  });
}
