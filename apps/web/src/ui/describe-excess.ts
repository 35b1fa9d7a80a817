/** What to do about a text of so many characters, or null where it is short enough. */
export function describeExcess(length: number, maxLength: number): string | null {
  return length > maxLength ? `Use at most ${maxLength} characters; these are ${length}.` : null;
}
