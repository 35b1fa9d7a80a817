import { Button } from "@mantine/core";
import { infiniteQueryOptions, keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { toLogInput } from "../../server/log-input.ts";
import { type InstanceEvent, trpc, trpcClient } from "../../server/trpc.ts";
import { useGrowingList } from "../../server/use-growing-list.ts";
import { describeLogCount } from "../../ui/describe-results.ts";
import emptyClasses from "../../ui/empty.module.css";
import { GrowingTable } from "../../ui/growing-table.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { defaultLogSort, listPageSize } from "../../ui/table-search.ts";
import { TableToolbar } from "../../ui/table-toolbar.tsx";
import { useTableNavigation } from "../../ui/use-table-navigation.ts";
import { logColumns } from "./log-columns.tsx";
import { isLogFiltered, toLogFilter, withoutLogFilter } from "./log-filter.ts";
import { LogFilters } from "./log-filters.tsx";
import type { LogSearch } from "./log-search.ts";

const route = getRouteApi("/app/operator/log");

function logQuery(search: LogSearch) {
  const input = { ...toLogFilter(search), ...toLogInput(search) };
  return infiniteQueryOptions({
    queryKey: trpc.operator.log.infiniteQueryKey(input),
    queryFn: ({ pageParam: cursor }) =>
      trpcClient.operator.log.query({ ...input, ...(cursor !== null && { cursor }) }),
    initialPageParam: null as string | null, // The first page has no cursor.
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}

/** What operators did, for operators. */
export function LogPage(): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const list = useGrowingList(useInfiniteQuery({ ...logQuery(search), placeholderData: keepPreviousData }));
  const table = useTableNavigation<LogSearch>({ navigate, page: 1, size: listPageSize, total: undefined });
  const actorName = list.items?.find(({ actor }) => actor.userId === search.actor)?.actor.email ?? undefined;
  const count = list.items ? describeLogCount(list.items.length, list.hasMore, search) : "";
  return (
    <>
      <PageHeader
        title="Instance log"
        explanation="What operators and the latchkey command changed, and which users and workspaces were deleted. Events can’t be changed."
      />
      <LogFilters search={search} actorName={actorName} onChange={table.change} />
      <TableToolbar
        results={list.isStale ? "Loading…" : !list.failure && count}
        columns={logColumns}
        search={search}
        onChooseColumns={table.chooseColumns}
        action={
          isLogFiltered(search) && (
            <Button variant="default" onClick={() => table.change(withoutLogFilter)}>
              Show all events
            </Button>
          )
        }
      />
      <GrowingTable
        label="Instance log"
        list={list}
        failureTitle="Couldn’t load the instance log"
        columns={logColumns}
        idOf={idOf}
        search={search}
        navigation={table}
        defaultSort={defaultLogSort}
        count={count}
        empty={
          isLogFiltered(search) ? (
            <section className={emptyClasses.panel}>
              <h2 className={emptyClasses.title}>No event matches</h2>
              <p className={emptyClasses.words}>Change a filter, or show all events.</p>
            </section>
          ) : (
            <section className={emptyClasses.panel}>
              <h2 className={emptyClasses.title}>Nothing yet</h2>
              <p className={emptyClasses.words}>
                Changes by operators appear here, with the person, the time and the IP address.
              </p>
            </section>
          )
        }
      />
    </>
  );
}

function idOf({ id }: InstanceEvent): string {
  return id;
}
