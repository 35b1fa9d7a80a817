/** Names the limit and the length of a text that is too long, or returns null if it is short enough. */
export function describeExcess(length: number, maxLength: number): string | null {
  return length > maxLength ? `Use at most ${maxLength} characters; these are ${length}.` : null;
}
