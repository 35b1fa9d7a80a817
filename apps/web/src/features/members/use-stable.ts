import { useMemo } from "react";

/** Returns the previous array if its items are the same. */
export function useStable<Item extends string>(items: readonly Item[]): readonly Item[] {
  const key = items.join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key represents the items
  return useMemo(() => items, [key]);
}
