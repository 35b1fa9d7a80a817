import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { describeFailure } from "../../server/failure.ts";
import { trpc } from "../../server/trpc.ts";
import { isLoadingFailed } from "../../server/use-loading-failure.ts";
import { usageBuckets } from "../../ui/usage-buckets.ts";
import type { UsageRange } from "../../ui/usage-ranges.ts";

const refreshMilliseconds = 3_000;

/** Refetches while the page is visible, until loading fails with nothing to show. */
const refetchOptions = {
  refetchInterval: (query: { readonly state: Parameters<typeof isLoadingFailed>[0] }) =>
    !isLoadingFailed(query.state) && refreshMilliseconds,
};

export function useKey(id: string) {
  return useQuery({
    ...trpc.apiKeys.get.queryOptions({ id }),
    refetchInterval: ({ state }) =>
      !isLoadingFailed(state) && !isKeyNotFound(state.error) && refreshMilliseconds,
  });
}

/**
 * Whether the key doesn't exist or the ID is invalid. Refetching then stops: a deleted key can't be
 * restored.
 */
export function isKeyNotFound(error: unknown): boolean {
  const { code } = describeFailure(error);
  return error !== null && (code === "NOT_FOUND" || code === "BAD_REQUEST");
}

export function useKeyUsage(id: string, range: UsageRange, now: Date) {
  return useQuery({
    ...trpc.keyHistory.usageInBuckets.queryOptions({ id, ...usageBuckets(range, now) }),
    ...refetchOptions,
    placeholderData: keepPreviousData,
  });
}

export function useRejectedRequests(id: string) {
  return useQuery({ ...trpc.keyHistory.refusals.queryOptions({ id }), ...refetchOptions });
}

export function useKeyAddresses(id: string) {
  return useQuery({ ...trpc.keyHistory.addresses.queryOptions({ id }), ...refetchOptions });
}
