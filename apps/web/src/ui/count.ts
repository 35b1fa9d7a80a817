// The locale of the user's system determines the thousands separator.
const format = new Intl.NumberFormat();

/** A whole number with thousands separators. */
export function formatCount(count: number): string {
  return format.format(count);
}

/** "1 key", "1,204 keys". */
export function countOf(count: number, singular: string, plural: string): string {
  return `${formatCount(count)} ${count === 1 ? singular : plural}`;
}
