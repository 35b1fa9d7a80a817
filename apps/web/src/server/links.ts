import { batchCostOf, maxBatchCost } from "@latchkey/api/batch-costs";
import type { AppRouter } from "@latchkey/api/router";
import { type HTTPBatchLinkOptions, httpBatchLink, splitLink, type TRPCLink } from "@trpc/client";

type Options = Pick<HTTPBatchLinkOptions<AppRouter["_def"]["_config"]["$types"]>, "url" | "fetch">;

/**
 * Composes batches that the API accepts: calls that cost 1 go together, each other call goes by itself, so that a slow
 * one delays none of the others either.
 */
export function createLinks(options: Options): TRPCLink<AppRouter>[] {
  // The API rejects query strings longer than this, in bytes.
  const bounded = { ...options, maxURLLength: 4_096 };
  return [
    splitLink({
      condition: ({ path }) => batchCostOf(path) === 1,
      true: httpBatchLink({ ...bounded, maxItems: maxBatchCost }),
      false: httpBatchLink({ ...bounded, maxItems: 1 }),
    }),
  ];
}
