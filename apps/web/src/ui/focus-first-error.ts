/** A form's answer to invalid values: moves the focus to the first field that has an error. */
export function focusFirstError<Field extends string>(
  getInputNode: (field: Field) => HTMLElement | null,
): (errors: Readonly<Record<string, unknown>>) => void {
  return (errors) => {
    const [first] = Object.keys(errors);
    // The names of a form's errors are the names of its fields.
    if (first) getInputNode(first as Field)?.focus();
  };
}
