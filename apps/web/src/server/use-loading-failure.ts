import type { QueryState, UseQueryResult } from "@tanstack/react-query";
import { useState } from "react";
import { describeFailure, type Failure } from "./failure.ts";

/**
 * Why a query has no data to show; undefined if it has data or hasn't failed yet. The failure stays
 * the same while the query retries, so that a page doesn't alternate between the failure and the
 * loading placeholder.
 */
export function useLoadingFailure(query: UseQueryResult<unknown, unknown>): Failure | undefined {
  const [lastError, setLastError] = useState<unknown>(query.error);
  if (query.error && query.error !== lastError) setLastError(query.error);
  const hasOwnData = query.data !== undefined && !query.isPlaceholderData;
  if (hasOwnData || query.errorUpdateCount === 0) return undefined;
  return describeFailure(query.error ?? lastError);
}

/** Why a list has no items to show, and how to load it again. */
export function useListFailure(query: UseQueryResult<unknown, unknown>) {
  const failure = useLoadingFailure(query);
  return (
    failure && {
      message: failure.message,
      requestId: failure.requestId,
      isRetrying: query.isFetching,
      onRetry: () => void query.refetch(),
    }
  );
}

/**
 * Whether a query has failed and has no data to show. Such a query isn't polled: it is refetched by
 * "Try again" or when the connection returns.
 */
export function isLoadingFailed({
  status,
  data,
}: Pick<QueryState<unknown, unknown>, "status" | "data">): boolean {
  return status === "error" && data === undefined;
}
