/**
 * Finds one of the largest items, without a search. Items are in classes by size: class n has those of 2^n to 2^(n+1) - 1, so
 * the item that is found is at least half as large as the largest one.
 */
export class SizeClasses<Item> {
  readonly #classes: Set<Item>[] = Array.from({ length: 32 }, () => new Set());

  /** Notes the new size of an item; 0 for none. Sizes are less than 2^32. */
  move(item: Item, { from, to }: { readonly from: number; readonly to: number }): void {
    const [former, next] = [classOf(from), classOf(to)];
    if (former === next) return;
    this.#classes[former]?.delete(item);
    this.#classes[next]?.add(item);
  }

  /** One of the largest items, the one that has been in its class for the longest time. */
  findLargest(): Item | undefined {
    return this.#classes
      .findLast((items) => items.size > 0)
      ?.values()
      .next().value;
  }
}

/** The class of a size; -1 for 0, which has none. */
function classOf(size: number): number {
  return 31 - Math.clz32(size);
}
