/** Returns a handler for invalid forms that focuses the first field with an error. */
export function focusFirstError<Field extends string>(
  getInputNode: (field: Field) => HTMLElement | null,
): (errors: Readonly<Record<string, unknown>>) => void {
  return (errors) => {
    const [first] = Object.keys(errors);
    // The names of a form's errors are the names of its fields.
    if (first) getInputNode(first as Field)?.focus();
  };
}
