import { keepPreviousData, type QueryKey, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { refreshEvery } from "../../server/refresh-every.ts";
import { trpc, trpcClient } from "../../server/trpc.ts";
import { readKeySearch } from "./key-search.ts";
import {
  type ConsumerSort,
  type ConsumersSearch,
  defaultConsumerSort,
  defaultKeySort,
  type IssuedKeySort,
  type IssuedKeysSearch,
  type KeyspaceSort,
  type KeyspacesSearch,
} from "./keyspaces-search.ts";

/** Data that verifications change is refetched every 3 seconds. */
const refreshOptions = refreshEvery(3_000);

/** A list that is read in pages. While a page of another list loads, the previous list stays. */
function usePages<Page extends { readonly nextCursor: string | null }>(
  queryKey: QueryKey,
  loadPage: (after: { readonly cursor?: string }) => Promise<Page>,
) {
  return useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam: cursor }) => loadPage(cursor === null ? {} : { cursor }),
    initialPageParam: null as string | null, // The first page has no cursor.
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
  });
}

/** The keyspaces of a workspace, in pages. */
export function useKeyspaces(workspaceId: string, { q, status, sort, size }: KeyspacesSearch) {
  const input = {
    workspaceId,
    ...(q && { search: q }),
    ...(status && { status }),
    ...(sort && { sort: sort as KeyspaceSort }), // parseTableSearch accepts no other.
    ...(size && { pageSize: size }),
  };
  return usePages(trpc.keyspaces.list.infiniteQueryKey(input), (after) =>
    trpcClient.keyspaces.list.query({ ...input, ...after }),
  );
}

/** A keyspace. */
export interface KeyspacePath {
  readonly workspaceId: string;
  readonly keyspaceId: string;
}

export function useKeyspace(path: KeyspacePath) {
  return useQuery(trpc.keyspaces.get.queryOptions(path));
}

/** The outcome of the latest verifications of a keyspace, which is read again until there is one. */
export function useLatestOutcome(path: KeyspacePath) {
  return useQuery({
    ...trpc.keyspaceUsage.latestOutcome.queryOptions(path),
    refetchInterval: (query) =>
      (query.state.data?.outcome ?? null) === null && refreshOptions.refetchInterval(query),
  });
}

/** The keys of a keyspace with a prefix, in pages. */
export function useIssuedKeys(
  path: KeyspacePath,
  prefix: string,
  { q, status, consumer, permission, sort, size }: IssuedKeysSearch,
) {
  const input = {
    ...path,
    ...readKeySearch(q, prefix),
    ...(status && { status }),
    ...(consumer && { externalId: consumer }),
    ...(permission && { permission }),
    sort: (sort as IssuedKeySort | undefined) ?? defaultKeySort, // parseTableSearch accepts no other.
    ...(size && { pageSize: size }),
  };
  return usePages(trpc.issuedKeys.list.infiniteQueryKey(input), (after) =>
    trpcClient.issuedKeys.list.query({ ...input, ...after }),
  );
}

/** The consumers of a keyspace, in pages. */
export function useConsumers(path: KeyspacePath, { q, sort, size }: ConsumersSearch) {
  const input = {
    ...path,
    ...(q && { search: q }),
    sort: (sort as ConsumerSort | undefined) ?? defaultConsumerSort, // parseTableSearch accepts no other.
    ...(size && { pageSize: size }),
  };
  return usePages(trpc.consumers.list.infiniteQueryKey(input), (after) =>
    trpcClient.consumers.list.query({ ...input, ...after }),
  );
}

/** A consumer of a keyspace. */
export interface ConsumerPath extends KeyspacePath {
  readonly externalId: string;
}

/** A consumer, which is read again while the page is visible, because uses change it. */
export function useConsumer(path: ConsumerPath) {
  return useQuery({
    ...trpc.consumers.get.queryOptions(path),
    ...refreshOptions,
  });
}

/** A key, which is read again while the page is visible, because uses change it. */
export function useIssuedKey(path: KeyspacePath & { readonly id: string }) {
  return useQuery({
    ...trpc.issuedKeys.get.queryOptions(path),
    ...refreshOptions,
  });
}
