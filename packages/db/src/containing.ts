/** A pattern of `like` for all that has this text in it, whatever it is made of. */
export function containing(text: string): string {
  return `%${text.replace(/[\\%_]/g, "\\$&")}%`;
}
