import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { refreshEvery } from "../../server/refresh-every.ts";
import { trpc } from "../../server/trpc.ts";
import { usageBuckets } from "../../ui/usage-buckets.ts";
import type { UsageRange } from "../../ui/usage-ranges.ts";

const refreshOptions = refreshEvery(3_000);

export function useKey(id: string) {
  return useQuery({ ...trpc.apiKeys.get.queryOptions({ id }), ...refreshOptions });
}

export function useKeyUsage(id: string, range: UsageRange, now: Date) {
  return useQuery({
    ...trpc.keyHistory.usageInBuckets.queryOptions({ id, ...usageBuckets(range, now) }),
    ...refreshOptions,
    placeholderData: keepPreviousData,
  });
}

export function useRejectedRequests(id: string) {
  return useQuery({ ...trpc.keyHistory.refusals.queryOptions({ id }), ...refreshOptions });
}

export function useKeyAddresses(id: string) {
  return useQuery({ ...trpc.keyHistory.addresses.queryOptions({ id }), ...refreshOptions });
}
