interface Splitting<Item> {
  /** Works on a part of the items, in their order. @throws if it failed. */
  readonly run: (part: readonly Item[]) => Promise<void>;
  /** Whether an item still needs work. The others are left out of the next part. */
  readonly isPending: (item: Item) => boolean;
  /** Whether a failure had no effect, so that the items may be worked on again. */
  readonly hadNoEffect: (error: unknown) => boolean;
  /** Called with an item that failed alone, or with a part whose failure may have had an effect. */
  readonly fail: (part: readonly Item[], error: unknown) => void;
  /** The most calls of `run`. */
  readonly maxRuns: number;
}

/**
 * Works on a list. If that fails without an effect, works on its halves, so that an item that always fails fails alone: among
 * n items, it takes about 2 · log2(n) calls to find.
 * @returns the items that were not worked on: because `maxRuns` was reached, or after a failure that may have had an effect.
 */
export async function splitOnFailure<Item>(
  items: readonly Item[],
  { run, isPending, hadNoEffect, fail, maxRuns }: Splitting<Item>,
): Promise<readonly Item[]> {
  const parts = [items];
  for (let runs = 0; runs < maxRuns; ) {
    const next = parts.shift();
    if (!next) return [];
    const part = next.filter(isPending);
    if (part.length === 0) continue;
    runs += 1;
    try {
      await run(part);
    } catch (error) {
      if (!hadNoEffect(error)) {
        fail(part, error);
        break;
      }
      if (part.length === 1) fail(part, error);
      const half = Math.ceil(part.length / 2);
      if (part.length > 1) parts.unshift(part.slice(0, half), part.slice(half));
    }
  }
  return parts.flat().filter(isPending);
}
