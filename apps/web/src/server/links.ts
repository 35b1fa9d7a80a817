import { batchCostOf, maxBatchCost } from "@latchkey/api/batch-costs";
import type { AppRouter } from "@latchkey/api/router";
import { type HTTPBatchLinkOptions, httpBatchLink, splitLink, type TRPCLink } from "@trpc/client";

import { reauthenticationLink } from "./reauthentication.ts";

type Options = Pick<HTTPBatchLinkOptions<AppRouter["_def"]["_config"]["$types"]>, "url" | "fetch">;

/**
 * How long a call may take, in milliseconds. The server responds within its deadlines, in seconds, and closes a connection that had
 * no traffic for 70 seconds, so no response arrives later. On a connection that was lost without a sign of it, the browser would wait
 * for minutes, while a form can't be closed.
 */
const maxCallMs = 75_000;

/**
 * Composes batches that the API accepts. Calls that cost 1 share a batch. Each other call is sent
 * separately, so that a slow call doesn't delay the others.
 */
export function createLinks(options: Options): TRPCLink<AppRouter>[] {
  // The API rejects query strings longer than this, in bytes.
  const batchOptions = { ...options, fetch: fetchInTime(options.fetch), maxURLLength: 4_096 };
  return [
    reauthenticationLink,
    splitLink({
      condition: ({ path }) => batchCostOf(path) === 1,
      true: httpBatchLink({ ...batchOptions, maxItems: maxBatchCost }),
      false: httpBatchLink({ ...batchOptions, maxItems: 1 }),
    }),
  ];
}

/** Returns a `fetch` that aborts a request, and the transfer of its response, after {@link maxCallMs}. */
function fetchInTime(send: Options["fetch"]): NonNullable<Options["fetch"]> {
  return (input, init) => {
    // Unlike AbortSignal.any, this works in every browser that the app is built for. tRPC sends no call that was aborted before.
    const abortion = new AbortController();
    const abort = (): void => abortion.abort();
    init?.signal?.addEventListener("abort", abort);
    setTimeout(abort, maxCallMs);
    return (send ?? fetch)(input, { ...init, signal: abortion.signal });
  };
}
