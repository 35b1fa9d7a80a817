import { Button, Skeleton } from "@mantine/core";
import { infiniteQueryOptions, useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { describeKeyEvent, isKeyAction } from "../../server/describe-event.ts";
import { describeFailure } from "../../server/failure.ts";
import { type SecurityEvent, trpc, trpcClient } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { countOf } from "../../ui/count.ts";
import type { DataColumn } from "../../ui/data-table.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import emptyClasses from "../../ui/empty.module.css";
import { EmptyCell } from "../../ui/empty-cell.tsx";
import { EventSentence } from "../../ui/event-sentence.tsx";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { RequestId } from "../../ui/request-id.tsx";
import { Section } from "../../ui/section.tsx";
import { ShowMore } from "../../ui/show-more.tsx";
import { describeAccountEvent } from "./describe-account-event.ts";
import { FactorsSection } from "./factors-section.tsx";
import classes from "./security-page.module.css";
import { SessionsSection } from "./sessions-section.tsx";
import { SignInMethodsSection } from "./sign-in-methods-section.tsx";

const route = getRouteApi("/app");

const actorTitles = {
  session: "You, in the web app",
  unknown: "Unknown",
  key: "An API key",
  command: "The operator’s command",
} as const satisfies Record<SecurityEvent["actor"]["kind"], string>;

type Column = DataColumn<SecurityEvent>;

const columns: readonly [Column, ...Column[]] = [
  {
    id: "event",
    label: "Event",
    minWidth: 260,
    grow: 3,
    rank: 0,
    cell: (event) => <Event event={event} />,
  },
  {
    id: "time",
    label: "Time",
    isTime: true,
    minWidth: 112,
    grow: 0,
    rank: 1,
    cell: ({ occurredAt }) => <RelativeTime at={occurredAt} />,
  },
  {
    id: "actor",
    label: "Made by",
    minWidth: 176,
    rank: 2,
    cell: ({ actor }) => <Actor actor={actor} />,
  },
  {
    id: "address",
    label: "IP address",
    minWidth: 136,
    grow: 0,
    rank: 3,
    cell: ({ address }) => (address ? <code className={classes.mono}>{address}</code> : <EmptyCell />),
  },
  {
    id: "request",
    label: "Request ID",
    minWidth: 160,
    grow: 0,
    rank: 4,
    cell: ({ requestId }) => (requestId ? <RequestId requestId={requestId} /> : <EmptyCell />),
  },
];

function Event({ event }: { readonly event: SecurityEvent }): ReactElement {
  const { action, key, before, after } = event;
  const { session } = route.useRouteContext();
  const workspaceNames = new Map(session.workspaces.map(({ id, name }) => [id, name]));
  const name = key?.name ?? null;
  const [first = "", ...rest] = isKeyAction(action)
    ? describeKeyEvent({ action, name, before, after, workspaceNames })
    : describeAccountEvent({ ...event, action });
  // The sentence has no subject here: "Created the API key …".
  const start = typeof first === "string" ? first.charAt(0).toUpperCase() + first.slice(1) : first;
  return (
    <span className={classes.sentence}>
      <EventSentence pieces={[start, ...rest]} />
    </span>
  );
}

function Actor({ actor }: { readonly actor: SecurityEvent["actor"] }): ReactElement {
  if (!actor.keyId || actor.isKeyDeleted) return <>{actorTitles[actor.kind]}</>;
  return (
    <Link to="/account/api-keys/$keyId" params={{ keyId: actor.keyId }} title={actor.keyId}>
      {actorTitles.key}
    </Link>
  );
}

const logQuery = infiniteQueryOptions({
  queryKey: trpc.securityLog.list.infiniteQueryKey({}),
  queryFn: ({ pageParam: cursor }) => trpcClient.securityLog.list.query(cursor === null ? {} : { cursor }),
  initialPageParam: null as string | null, // The first page has no cursor.
  getNextPageParam: ({ nextCursor }) => nextCursor,
});

/** The security log of the user. */
export function SecurityPage(): ReactElement {
  const log = useInfiniteQuery(logQuery);
  const failure = useLoadingFailure(log);
  const events = log.data?.pages.flatMap(({ items }) => items);
  return (
    <>
      <PageHeader
        title="Security"
        explanation="Your second factors, your sessions, and what happened to your account and your API keys."
      />
      <SignInMethodsSection />
      <FactorsSection />
      <SessionsSection />
      <Section title="Security log" isWide>
        {failure ? (
          <FailurePanel
            title="Couldn’t load the security log"
            message={failure.message}
            requestId={failure.requestId}
            isRetrying={log.isFetching}
            onRetry={() => void log.refetch()}
          />
        ) : events?.length === 0 ? (
          <EmptyLog />
        ) : events ? (
          <>
            <DataTable
              label="Security log"
              columns={columns}
              items={events}
              isStale={false}
              idOf={idOf}
              chosen={undefined}
            />
            {(log.hasNextPage || events.length > 50) && (
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
                {countOf(events.length, "event", "events")}
              </ShowMore>
            )}
          </>
        ) : (
          <Skeleton h={240} />
        )}
      </Section>
    </>
  );
}

function idOf({ id }: SecurityEvent): string {
  return id;
}

function EmptyLog(): ReactElement {
  return (
    <section className={emptyClasses.panel}>
      <h3 className={emptyClasses.title}>No events yet</h3>
      <p className={emptyClasses.words}>
        When one of your API keys is created, changed, rotated or deleted, the change appears here with its IP
        address.
      </p>
      <Button variant="default" renderRoot={(props) => <Link {...props} to="/account/api-keys" />}>
        Go to your API keys
      </Button>
    </section>
  );
}
