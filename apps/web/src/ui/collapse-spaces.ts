/**
 * Trims whitespace, and replaces each run of whitespace, including tabs and no-break spaces, by one
 * space.
 */
export function collapseSpaces(text: string): string {
  return text.trim().replace(/\s+/g, " ");
}
