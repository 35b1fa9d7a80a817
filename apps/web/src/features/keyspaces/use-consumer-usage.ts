import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { refreshEvery } from "../../server/refresh-every.ts";
import { trpc } from "../../server/trpc.ts";
import { usageBuckets } from "../../ui/usage-buckets.ts";
import type { UsageRange } from "../../ui/usage-ranges.ts";
import type { ConsumerPath } from "./use-keyspaces.ts";

/** How often the usage is read again, in milliseconds. */
const refreshEveryMs = 3_000;

// Not in use-keyspaces.ts, because pages without a chart would load the code of charts.
/** The verifications of a consumer's keys by outcome, which are read again while the page is visible. */
export function useConsumerUsage(path: ConsumerPath, range: UsageRange, now: Date) {
  return useQuery({
    ...trpc.keyspaceUsage.consumerUsage.queryOptions({ ...path, ...usageBuckets(range, now) }),
    ...refreshEvery(refreshEveryMs),
    placeholderData: keepPreviousData,
  });
}
