/**
 * Returns an error with the limit and the length of a text that is too long; null if it is short
 * enough.
 * @param length in Unicode code points, as the server counts: `[...text].length`.
 */
export function describeLengthError(length: number, maxLength: number): string | null {
  return length > maxLength ? `Use at most ${maxLength} characters. You entered ${length}.` : null;
}
