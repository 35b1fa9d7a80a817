import type { QueryState } from "@tanstack/react-query";
import { describeFailure } from "./failure.ts";
import { isLoadingFailed } from "./use-loading-failure.ts";

type State = Pick<QueryState<unknown, unknown>, "status" | "data" | "error">;

/**
 * Reads a query again while the page is visible, until loading fails with nothing to show, or until what it shows was
 * deleted, which can't be restored.
 */
export function refreshEvery(milliseconds: number): {
  readonly refetchInterval: (query: { readonly state: State }) => number | false;
} {
  return {
    refetchInterval: ({ state }) => !isLoadingFailed(state) && !isNotFound(state.error) && milliseconds,
  };
}

/** Whether an item doesn't exist, or the ID in the URL is invalid. */
export function isNotFound(error: unknown): boolean {
  const { code } = describeFailure(error);
  return code === "NOT_FOUND" || code === "BAD_REQUEST";
}
