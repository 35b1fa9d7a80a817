import { useState } from "react";

/** Returns the previous array if its items are the same. */
export function useStable<Item extends string>(items: readonly Item[]): readonly Item[] {
  const [stable, setStable] = useState(items);
  if (stable.join() === items.join()) return stable;
  setStable(items);
  return items;
}
