import { infiniteQueryOptions, keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { toLogInput } from "../../server/log-input.ts";
import { trpc, trpcClient } from "../../server/trpc.ts";
import { toFilter } from "./audit-log-filter.ts";
import type { AuditLogSearch } from "./audit-log-search.ts";

/** The paginated query for the audit log of a workspace. */
function auditLogQuery(workspaceId: string, search: AuditLogSearch) {
  const input = { workspaceId, ...toFilter(search), ...toLogInput(search) };
  return infiniteQueryOptions({
    queryKey: trpc.audit.list.infiniteQueryKey(input),
    queryFn: ({ pageParam: cursor }) =>
      trpcClient.audit.list.query({ ...input, ...(cursor !== null && { cursor }) }),
    initialPageParam: null as string | null, // The first page has no cursor.
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}

export function useAuditLog(workspaceId: string, search: AuditLogSearch) {
  return useInfiniteQuery({
    ...auditLogQuery(workspaceId, search),
    placeholderData: keepPreviousData,
  });
}
