import { queryClient } from "../../server/query-client.ts";
import { trpc } from "../../server/trpc.ts";

/** The session, or null for a visitor. Loads it with what every page needs. */
export async function loadSession() {
  // tRPC batches the three calls into one request. Pages read the instance and its permissions from
  // the cache.
  const [session] = await Promise.all([
    queryClient.ensureQueryData(trpc.session.current.queryOptions(undefined, { staleTime: Infinity })),
    queryClient.ensureQueryData(trpc.instance.get.queryOptions(undefined, { staleTime: Infinity })),
    queryClient.ensureQueryData(trpc.instance.permissions.queryOptions(undefined, { staleTime: Infinity })),
  ]);
  return session;
}

/**
 * Whether the instance has no accounts yet. False if the call fails, because most instances have
 * accounts.
 */
export async function hasNoAccounts(): Promise<boolean> {
  return await queryClient.fetchQuery(trpc.instance.isFresh.queryOptions()).catch(() => false);
}
