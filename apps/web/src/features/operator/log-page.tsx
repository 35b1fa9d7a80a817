import { Button } from "@mantine/core";
import { infiniteQueryOptions, keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { toLogInput } from "../../server/log-input.ts";
import { type InstanceEvent, trpc, trpcClient } from "../../server/trpc.ts";
import { useGrowingList } from "../../server/use-growing-list.ts";
import { EmptyPanel } from "../../ui/empty-panel.tsx";
import { GrowingTable } from "../../ui/growing-table.tsx";
import { isLogFiltered, withoutFilter } from "../../ui/log-filter.ts";
import { LogFilters } from "../../ui/log-filters.tsx";
import { NoMatch } from "../../ui/no-match.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { defaultLogSort } from "../../ui/table-search.ts";
import { useFilterReset } from "../../ui/use-filter-reset.ts";
import { useTableNavigation } from "../../ui/use-table-navigation.ts";
import { instanceActionTitles } from "./instance-action-titles.ts";
import { logColumns } from "./log-columns.tsx";
import { toLogFilter } from "./log-filter.ts";
import { isLogTarget, type LogSearch } from "./log-search.ts";
import { UserFilter } from "./user-filter.tsx";

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
  const table = useTableNavigation<LogSearch>({ navigate });
  const actorName = list.items?.find(({ actor }) => actor.userId === search.actor)?.actor.email ?? undefined;
  const filterReset = useFilterReset(() => table.change(withoutFilter));
  const isFiltered = isLogFiltered(search);
  return (
    <>
      <PageHeader
        title="Instance log"
        explanation="What operators and the latchkey command changed, and which users and workspaces were deleted. Events can’t be changed."
      />
      <LogFilters
        key={filterReset.key}
        search={search}
        onChange={table.change}
        action={{ label: "Event", titles: instanceActionTitles }}
        actor={
          <UserFilter
            label="Actor"
            chosen={search.actor}
            chosenName={actorName}
            onChoose={(actor) => table.change({ actor })}
          />
        }
        target={{
          label: "Target",
          isId: isLogTarget,
          error: "Enter the ID of a user or a workspace.",
        }}
      />
      <GrowingTable
        label="Instance log"
        toolbarAction={
          isFiltered && (
            <Button variant="default" onClick={filterReset.reset}>
              Show all events
            </Button>
          )
        }
        list={list}
        nouns={["event", "events"]}
        total="log"
        isFiltered={isFiltered}
        failureTitle="Couldn’t load the instance log"
        columns={logColumns}
        idOf={idOf}
        search={search}
        navigation={table}
        defaultSort={defaultLogSort}
        empty={
          isFiltered ? (
            <NoMatch noun="event" onClear={filterReset.reset}>
              Change the filters.
            </NoMatch>
          ) : (
            <NoEvents />
          )
        }
      />
    </>
  );
}

function idOf({ id }: InstanceEvent): string {
  return id;
}

function NoEvents(): ReactElement {
  return (
    <EmptyPanel
      title="No events yet"
      action={
        <Button variant="default" renderRoot={(props) => <Link {...props} to="/operator/users" />}>
          Manage users
        </Button>
      }
    >
      Changes by operators appear here, with the person, the time and the IP address.
    </EmptyPanel>
  );
}
