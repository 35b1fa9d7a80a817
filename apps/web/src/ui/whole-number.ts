/** Whether a text is a whole number in a range. Spaces around it don't matter, and `Number` ignores them too. */
export function isWholeNumber(
  text: string,
  { min, max }: { readonly min: number; readonly max: number },
): boolean {
  const digits = text.trim();
  return /^\d{1,15}$/.test(digits) && Number(digits) >= min && Number(digits) <= max;
}
