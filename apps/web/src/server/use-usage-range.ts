import { useSuspenseQuery } from "@tanstack/react-query";
import type { UsageRangeSearch } from "../ui/usage-range-search.ts";
import { listUsageRanges, type UsageRange } from "../ui/usage-ranges.ts";
import { trpc } from "./trpc.ts";

/** The periods that this instance can show. */
export function useUsageRanges(): readonly UsageRange[] {
  const { historyDays } = useSuspenseQuery(trpc.instance.get.queryOptions()).data;
  // Nodes of the previous version don't send it.
  return listUsageRanges(historyDays ?? 90);
}

/** The period that a URL names; the longest one if the instance keeps no counts for so long. */
export function useUsageRange({ range }: UsageRangeSearch): UsageRange {
  const ranges = useUsageRanges();
  const found = ranges.find(({ name }) => name === (range ?? "24h")) ?? ranges.at(-1);
  if (!found) throw new Error("There is always a period of 24 hours.");
  return found;
}
