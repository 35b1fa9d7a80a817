import type { QueryState } from "@tanstack/react-query";
import { isNotFound } from "./failure.ts";
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
