import { Button } from "@mantine/core";
import { infiniteQueryOptions, keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type ReactElement, useMemo } from "react";
import { describeKeyEvent, isKeyAction } from "../../server/describe-key-event.ts";
import { toLogInput } from "../../server/log-input.ts";
import { isSecurityAction, securityActionTitles } from "../../server/security-action-titles.ts";
import { type SecurityEvent, trpc, trpcClient } from "../../server/trpc.ts";
import { useGrowingList } from "../../server/use-growing-list.ts";
import type { DataColumn } from "../../ui/data-column.ts";
import { EmptyCell } from "../../ui/empty-cell.tsx";
import { EmptyPanel } from "../../ui/empty-panel.tsx";
import { ipAddressColumn, requestColumn, sentenceColumn, timeColumn } from "../../ui/event-columns.tsx";
import type { Piece } from "../../ui/event-sentence.tsx";
import { GrowingTable } from "../../ui/growing-table.tsx";
import { isLogFiltered, toPeriod, withoutFilter } from "../../ui/log-filter.ts";
import { LogFilters } from "../../ui/log-filters.tsx";
import { NoMatch } from "../../ui/no-match.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { Section } from "../../ui/section.tsx";
import { defaultLogSort } from "../../ui/table-search.ts";
import { useFilterReset } from "../../ui/use-filter-reset.ts";
import { useTableNavigation } from "../../ui/use-table-navigation.ts";
import { describeAccountEvent } from "./describe-account-event.ts";
import { describeDevice } from "./describe-device.ts";
import { FactorsSection } from "./factors-section.tsx";
import type { SecuritySearch } from "./security-search.ts";
import { SessionsSection } from "./sessions-section.tsx";
import { SignInMethodsSection } from "./sign-in-methods-section.tsx";

const app = getRouteApi("/app");
const route = getRouteApi("/app/account/security");

const actorTitles = {
  session: "You, in the web app",
  unknown: "Unknown",
  key: "An API key",
  operator: "An operator",
  command: "The latchkey command",
} as const satisfies Record<SecurityEvent["actor"]["kind"], string>;

function securityColumns(
  workspaceNames: ReadonlyMap<string, string>,
): readonly [DataColumn<SecurityEvent>, ...DataColumn<SecurityEvent>[]] {
  return [
    sentenceColumn({ id: "event", label: "Event", minWidth: 260, rank: 0 }, (event) =>
      describe(event, workspaceNames),
    ),
    timeColumn(1),
    { id: "actor", label: "Actor", minWidth: 160, rank: 2, cell: ({ actor }) => <Actor actor={actor} /> },
    {
      id: "device",
      label: "Device",
      minWidth: 170,
      rank: 3,
      cell: ({ device }) => (device ? describeDevice(device) : <EmptyCell />),
    },
    ipAddressColumn(4),
    requestColumn(5),
  ];
}

/** Describes an event without a subject: "Created the API key …". */
function describe(event: SecurityEvent, workspaceNames: ReadonlyMap<string, string>): readonly Piece[] {
  const { action, key, before, after } = event;
  const name = key?.name ?? null;
  const [first = "", ...rest] = isKeyAction(action)
    ? describeKeyEvent({ action, name, before, after, workspaceNames })
    : describeAccountEvent({ ...event, action });
  const start = typeof first === "string" ? first.charAt(0).toUpperCase() + first.slice(1) : first;
  return [start, ...rest];
}

function Actor({ actor }: { readonly actor: SecurityEvent["actor"] }): ReactElement {
  if (!actor.keyId || actor.isKeyDeleted) return <>{actorTitles[actor.kind]}</>;
  return (
    <Link to="/account/api-keys/$keyId" params={{ keyId: actor.keyId }} title={actor.keyId}>
      {actorTitles.key}
    </Link>
  );
}

/** The paginated query for the security log. */
function logQuery(search: SecuritySearch) {
  const { action } = search;
  const input = { ...(isSecurityAction(action) && { action }), ...toPeriod(search), ...toLogInput(search) };
  return infiniteQueryOptions({
    queryKey: trpc.securityLog.list.infiniteQueryKey(input),
    queryFn: ({ pageParam: cursor }) =>
      trpcClient.securityLog.list.query({ ...input, ...(cursor !== null && { cursor }) }),
    initialPageParam: null as string | null, // The first page has no cursor.
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
  });
}

/** The user's second factors, sessions and security log. */
export function SecurityPage(): ReactElement {
  return (
    <>
      <PageHeader
        title="Security"
        explanation="Your second factors, your sessions, and changes to your account and your API keys."
      />
      <SignInMethodsSection />
      <FactorsSection />
      <SessionsSection />
      <Section title="Security log" isWide>
        <Log />
      </Section>
    </>
  );
}

function Log(): ReactElement {
  const { session } = app.useRouteContext();
  const search = route.useSearch();
  const list = useGrowingList(useInfiniteQuery(logQuery(search)));
  const table = useTableNavigation<SecuritySearch>({ navigate: route.useNavigate() });
  const columns = useMemo(
    () => securityColumns(new Map(session.workspaces.map(({ id, name }) => [id, name]))),
    [session.workspaces],
  );
  const filterReset = useFilterReset(() => table.change(withoutFilter));
  const isFiltered = isLogFiltered(search);
  return (
    <>
      <LogFilters
        key={filterReset.key}
        search={search}
        onChange={table.change}
        action={{ label: "Event", titles: securityActionTitles }}
      />
      <GrowingTable
        label="Security log"
        list={list}
        nouns={["event", "events"]}
        total="log"
        isFiltered={isFiltered}
        failureTitle="Couldn’t load the security log"
        columns={columns}
        idOf={idOf}
        search={search}
        navigation={table}
        defaultSort={defaultLogSort}
        empty={
          isFiltered ? (
            <NoMatch noun="event" level={3} onClear={filterReset.reset}>
              Change the filters.
            </NoMatch>
          ) : (
            <EmptyLog />
          )
        }
      />
    </>
  );
}

function idOf({ id }: SecurityEvent): string {
  return id;
}

function EmptyLog(): ReactElement {
  return (
    <EmptyPanel
      title="No events yet"
      level={3}
      action={
        <Button variant="default" renderRoot={(props) => <Link {...props} to="/account/api-keys" />}>
          Go to your API keys
        </Button>
      }
    >
      Each change to your API keys appears here, with its IP address.
    </EmptyPanel>
  );
}
