import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { refreshEvery } from "../../server/refresh-every.ts";
import { trpc } from "../../server/trpc.ts";
import { usageBuckets } from "../../ui/usage-buckets.ts";
import type { UsageRange } from "../../ui/usage-ranges.ts";
import type { KeyspacePath } from "./use-keyspaces.ts";

/** How often the counts and the busiest keys are read again, in milliseconds. */
const refreshEveryMs = { usage: 5_000, busiest: 15_000 };

/** The outcomes of the verifications of a keyspace. */
export function useKeyspaceUsage(path: KeyspacePath, range: UsageRange, now: Date) {
  return useQuery({
    ...trpc.keyspaceUsage.usage.queryOptions({ ...path, ...usageBuckets(range, now) }),
    ...refreshEvery(refreshEveryMs.usage),
    placeholderData: keepPreviousData,
  });
}

/** The busiest keys, consumers and tags of a keyspace. */
export function useBusiest(path: KeyspacePath, range: UsageRange, now: Date) {
  return useQuery({
    ...trpc.keyspaceUsage.busiest.queryOptions({ ...path, ...usageBuckets(range, now) }),
    ...refreshEvery(refreshEveryMs.busiest),
    placeholderData: keepPreviousData,
  });
}
