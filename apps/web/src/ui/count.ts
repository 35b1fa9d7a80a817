// The locale of the reader's system decides how thousands are separated.
const format = new Intl.NumberFormat();

/** A whole number with its thousands marked. */
export function formatCount(count: number): string {
  return format.format(count);
}

/** "1 key", "1,204 keys". */
export function countOf(count: number, one: string, many: string): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}
