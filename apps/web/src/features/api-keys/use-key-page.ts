import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { trpc } from "../../server/trpc.ts";
import { isLoadingFailed } from "../../server/use-loading-failure.ts";
import { type UsageRange, usagePeriod } from "./usage.ts";

const refreshMilliseconds = 3_000;

/** Asks again while the page is in view, until it fails with nothing to show. */
const refreshed = {
  refetchInterval: (query: { readonly state: Parameters<typeof isLoadingFailed>[0] }) =>
    !isLoadingFailed(query.state) && refreshMilliseconds,
};

export function useKey(id: string) {
  return useQuery({ ...trpc.apiKeys.get.queryOptions({ id }), ...refreshed });
}

export function useKeyUsage(id: string, range: UsageRange, now: Date) {
  const period = usagePeriod(range, now);
  return useQuery({
    ...trpc.keyHistory.usage.queryOptions({ id, ...period }),
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
