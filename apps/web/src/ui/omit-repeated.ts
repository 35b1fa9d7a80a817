/**
 * Omits each item that has the ID of an earlier one. A list that is read page by page repeats an item whose sort value
 * changes between two pages, and the IDs of rows must be unique.
 */
export function omitRepeated<Item>(items: readonly Item[], idOf: (item: Item) => string): readonly Item[] {
  const ids = new Set<string>();
  return items.filter((item) => {
    const id = idOf(item);
    const isFirst = !ids.has(id);
    ids.add(id);
    return isFirst;
  });
}
