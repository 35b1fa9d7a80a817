import type { QueryState, UseQueryResult } from "@tanstack/react-query";
import { useState } from "react";
import { describeFailure, type Failure } from "./failure.ts";

/**
 * Why a query has nothing to show, undefined when it has or may yet. It stays the same while the query tries
 * again, so that a page does not swing between the failure and what stands in for an answer.
 */
export function useLoadingFailure(query: UseQueryResult<unknown, unknown>): Failure | undefined {
  const [lastError, setLastError] = useState<unknown>(query.error);
  if (query.error && query.error !== lastError) setLastError(query.error);
  const hasOwnData = query.data !== undefined && !query.isPlaceholderData;
  if (hasOwnData || query.errorUpdateCount === 0) return undefined;
  return describeFailure(query.error ?? lastError);
}

/**
 * Whether a query has failed and has nothing to show. It is then not asked again every few seconds: "Try again"
 * and the return of the connection do that.
 */
export function isLoadingFailed({
  status,
  data,
}: Pick<QueryState<unknown, unknown>, "status" | "data">): boolean {
  return status === "error" && data === undefined;
}
