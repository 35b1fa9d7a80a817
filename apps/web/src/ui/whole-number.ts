/** Whether a text is a whole number in a range. */
export function isWholeNumber(
  text: string,
  { min, max }: { readonly min: number; readonly max: number },
): boolean {
  return /^\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max;
}
