import type { QueryState } from "@tanstack/react-query";
import { isNotFound } from "./failure.ts";
import { isLoadingFailed } from "./use-loading-failure.ts";

type State = Pick<QueryState<unknown, unknown>, "status" | "data" | "error">;

/**
 * Reads a query again while the page is visible, until loading fails with nothing to show, or until the item is not found: a
 * deleted item can't be restored.
 */
export function refreshEvery(milliseconds: number): {
  readonly refetchInterval: (query: { readonly state: State }) => number | false;
} {
  return {
    refetchInterval: ({ state }) => !isLoadingFailed(state) && !isNotFound(state.error) && milliseconds,
  };
}
