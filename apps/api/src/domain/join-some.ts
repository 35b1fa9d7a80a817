/** The maximum number of items that a sentence lists. */
const maxListed = 10;

/** Joins items for a sentence: the first ten, and how many more there are. */
export function joinSome(items: readonly string[]): string {
  const listed = items.slice(0, maxListed);
  const omitted = items.length - listed.length;
  return new Intl.ListFormat("en").format(omitted > 0 ? [...listed, `${omitted} more`] : listed);
}
