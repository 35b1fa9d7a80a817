import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { describeFailure } from "../../server/failure.ts";
import { trpc } from "../../server/trpc.ts";
import { isLoadingFailed } from "../../server/use-loading-failure.ts";
import { type UsageRange, usageBuckets } from "../../ui/usage-ranges.ts";

const refreshMilliseconds = 3_000;

/** Asks again while the page is in view, until it fails with nothing to show. */
const refreshed = {
  refetchInterval: (query: { readonly state: Parameters<typeof isLoadingFailed>[0] }) =>
    !isLoadingFailed(query.state) && refreshMilliseconds,
};

export function useKey(id: string) {
  return useQuery({
    ...trpc.apiKeys.get.queryOptions({ id }),
    refetchInterval: ({ state }) => !isLoadingFailed(state) && !isGone(state.error) && refreshMilliseconds,
  });
}

/** Whether the API said that there is no such key; one that is deleted does not come back. */
export function isGone(error: unknown): boolean {
  const { code } = describeFailure(error);
  return error !== null && (code === "NOT_FOUND" || code === "BAD_REQUEST");
}

export function useKeyUsage(id: string, range: UsageRange, now: Date) {
  return useQuery({
    ...trpc.keyHistory.usageInBuckets.queryOptions({ id, ...usageBuckets(range, now) }),
    ...refreshed,
    placeholderData: keepPreviousData,
  });
}

export function useKeyRefusals(id: string) {
  return useQuery({ ...trpc.keyHistory.refusals.queryOptions({ id }), ...refreshed });
}

export function useKeyAddresses(id: string) {
  return useQuery({ ...trpc.keyHistory.addresses.queryOptions({ id }), ...refreshed });
}
