import { batchCostOf, maxBatchCost } from "@latchkey/api/batch-costs";
import type { AppRouter } from "@latchkey/api/router";
import { type HTTPBatchLinkOptions, httpBatchLink, splitLink, type TRPCLink } from "@trpc/client";

import { reauthenticationLink } from "./reauthentication.ts";

type Options = Pick<HTTPBatchLinkOptions<AppRouter["_def"]["_config"]["$types"]>, "url" | "fetch">;

/**
 * Composes batches that the API accepts. Calls that cost 1 share a batch. Each other call is sent
 * separately, so that a slow call doesn't delay the others.
 */
export function createLinks(options: Options): TRPCLink<AppRouter>[] {
  // The API rejects query strings longer than this, in bytes.
  const batchOptions = { ...options, maxURLLength: 4_096 };
  return [
    reauthenticationLink,
    splitLink({
      condition: ({ path }) => batchCostOf(path) === 1,
      true: httpBatchLink({ ...batchOptions, maxItems: maxBatchCost }),
      false: httpBatchLink({ ...batchOptions, maxItems: 1 }),
    }),
  ];
}
