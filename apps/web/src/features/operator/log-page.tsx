import { Button } from "@mantine/core";
import { infiniteQueryOptions, keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type InstanceEvent, trpc, trpcClient } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { countOf } from "../../ui/count.ts";
import { DataTable } from "../../ui/data-table.tsx";
import emptyClasses from "../../ui/empty.module.css";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { ShowMore } from "../../ui/show-more.tsx";
import classes from "../../ui/toolbar.module.css";
import { logColumns } from "./log-columns.tsx";
import type { LogSearch } from "./log-search.ts";

const route = getRouteApi("/app/operator/log");

function logQuery({ user }: LogSearch) {
  const input = user ? { targetUserId: user } : {};
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
  const log = useInfiniteQuery({ ...logQuery(search), placeholderData: keepPreviousData });
  const failure = useLoadingFailure(log);
  const events = log.data?.pages.flatMap(({ items }) => items);
  const showAll = () => void navigate({ search: {}, replace: true });
  return (
    <>
      <PageHeader
        title="Instance log"
        explanation="What operators and the latchkey command changed, and which users and workspaces were deleted, newest first. Entries can’t be changed."
      />
      <div className={classes.toolbar}>
        {search.user && (
          <Button variant="default" onClick={showAll}>
            Show all events
          </Button>
        )}
        <div className={classes.results}>
          <span role="status" className={classes.count}>
            {log.isPlaceholderData
              ? "Loading…"
              : !failure && events && describeCount(events.length, log.hasNextPage)}
          </span>
        </div>
      </div>
      {failure ? (
        <FailurePanel
          title="Couldn’t load the instance log"
          message={failure.message}
          requestId={failure.requestId}
          isRetrying={log.isFetching}
          onRetry={() => void log.refetch()}
        />
      ) : events?.length === 0 ? (
        <section className={emptyClasses.panel}>
          <h2 className={emptyClasses.title}>Nothing yet</h2>
          <p className={emptyClasses.words}>
            Changes by operators appear here, with the person, the time and the IP address.
          </p>
        </section>
      ) : (
        <>
          <DataTable
            label="Instance log"
            columns={logColumns}
            items={events}
            isStale={log.isPlaceholderData}
            idOf={idOf}
            chosen={undefined}
          />
          {events && (log.hasNextPage || events.length > 50) && (
            <ShowMore
              hasMore={log.hasNextPage}
              isLoading={log.isFetchingNextPage}
              failure={
                log.isFetchNextPageError
                  ? `Couldn’t load more. ${describeFailure(log.error).message}`
                  : undefined
              }
              onShowMore={() => void log.fetchNextPage()}
            >
              {describeCount(events.length, log.hasNextPage)}
            </ShowMore>
          )}
        </>
      )}
    </>
  );
}

function idOf({ id }: InstanceEvent): string {
  return id;
}

function describeCount(count: number, hasMore: boolean): string {
  return hasMore ? `The latest ${countOf(count, "event", "events")}` : countOf(count, "event", "events");
}
