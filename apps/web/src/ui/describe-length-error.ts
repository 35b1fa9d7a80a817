/**
 * Returns an error with the limit and the length of a text that is too long; null if it is short
 * enough. Both are in Unicode code points, as the server counts.
 */
export function describeLengthError(text: string, maxLength: number): string | null {
  const { length } = [...text];
  return length > maxLength ? `Use at most ${maxLength} characters. You entered ${length}.` : null;
}
