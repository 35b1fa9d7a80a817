/** A text without spaces at its ends, and with one space for each run of them: tabs and no-break spaces count. */
export function collapseSpaces(text: string): string {
  return text.trim().replace(/\s+/g, " ");
}
