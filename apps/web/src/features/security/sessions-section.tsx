import { maxLength } from "@latchkey/limits";
import { Button, Group } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useCallback, useMemo, useState } from "react";
import { type ListedSession, trpc } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { BulkBar } from "../../ui/bulk-bar.tsx";
import { ColumnMenu } from "../../ui/column-menu.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { NoMatch } from "../../ui/no-match.tsx";
import removalClasses from "../../ui/removal.module.css";
import { SearchField } from "../../ui/search-field.tsx";
import { Section } from "../../ui/section.tsx";
import { readColumns, readSelected, type TableSearch, writeSort } from "../../ui/table-search.ts";
import toolbarClasses from "../../ui/toolbar.module.css";
import { useTableNavigation } from "../../ui/use-table-navigation.ts";
import { describeDevice } from "./describe-device.ts";
import type { SessionsToEnd } from "./end-sessions-dialog.tsx";
import { defaultSessionSort, readSessionsSearch, withSessionsSearch } from "./security-search.ts";
import { bulkSessions, sessionActions } from "./session-bulk-actions.ts";
import { sessionColumns } from "./session-columns.tsx";
import { findSessions, sortSessions } from "./session-order.ts";

const endSessionsDialog = {
  load: () => import("./end-sessions-dialog.tsx").then((module) => module.EndSessionsDialog),
  closed: { target: undefined },
};

/** The number of sessions from which they can be searched. */
const leastSearched = 5;

const route = getRouteApi("/app/account/security");

/** The user's sessions, each of which can be ended. */
export function SessionsSection(): ReactElement {
  const sessions = useQuery(trpc.account.sessions.queryOptions());
  const failure = useLoadingFailure(sessions);
  const [target, setTarget] = useState<SessionsToEnd>();
  const navigate = route.useNavigate();
  const search = readSessionsSearch(route.useSearch());
  const table = useTableNavigation<TableSearch>({
    navigate: ({ search: change, ...options }) =>
      navigate({
        search: (before) => withSessionsSearch(before, change(readSessionsSearch(before))),
        ...options,
      }),
  });
  const { q = "", sort } = search;
  const items = useMemo(
    () => sessions.data && findSessions(sortSessions(sessions.data, sort), q),
    [sessions.data, sort, q],
  );
  const hasSearch = q !== "" || (sessions.data?.length ?? 0) >= leastSearched;
  const selected = readSelected(search);
  const actions = useCallback(
    (session: ListedSession) =>
      session.isCurrent ? null : (
        <Button
          className={removalClasses.action}
          variant="subtle"
          color="gray"
          aria-label={`End the session of ${describeDevice(session.device)}`}
          onClick={() => setTarget({ kind: "one", session })}
        >
          End
        </Button>
      ),
    [],
  );
  const others = sessions.data?.filter(({ isCurrent }) => !isCurrent).length ?? 0;
  return (
    <Section
      title="Sessions"
      isWide
      action={
        <Group gap={8}>
          <ColumnMenu columns={sessionColumns} chosen={readColumns(search)} onChoose={table.chooseColumns} />
          {others > 0 && (
            <Button variant="default" onClick={() => setTarget({ kind: "others", count: others })}>
              End all other sessions
            </Button>
          )}
          <Button variant="default" onClick={() => setTarget({ kind: "all" })}>
            Sign out everywhere
          </Button>
        </Group>
      }
    >
      {failure ? (
        <FailurePanel
          title="Couldn’t load sessions"
          message={failure.message}
          requestId={failure.requestId}
          isRetrying={sessions.isFetching}
          onRetry={() => void sessions.refetch()}
        />
      ) : (
        <>
          {hasSearch && (
            <div className={toolbarClasses.toolbar}>
              <SearchField
                label="Search sessions"
                placeholder="Search by device or IP address"
                maxLength={maxLength.search}
                search={q}
                onSearch={(text) => table.change({ q: text === "" ? undefined : text })}
              />
            </div>
          )}
          <BulkBar
            {...bulkSessions}
            items={items?.filter(({ id, isCurrent }) => selected.has(id) && !isCurrent) ?? []}
            actions={sessionActions}
            onSelect={(chosen) => table.select(new Set(chosen.map(idOf)))}
          />
          {items?.length === 0 ? (
            <NoMatch noun="session" search={q} level={3} onClear={() => table.change({ q: undefined })}>
              Search covers devices and IP addresses.
            </NoMatch>
          ) : (
            <DataTable
              label="Sessions"
              columns={sessionColumns}
              items={items}
              isStale={false}
              idOf={idOf}
              chosen={readColumns(search)}
              sort={sort ?? defaultSessionSort}
              onSort={(next) => table.change({ sort: writeSort(next, sort, defaultSessionSort) })}
              actions={actions}
              selection={{ selected, onSelect: table.select, nameOf: bulkSessions.nameOf, blockedReason }}
            />
          )}
        </>
      )}
      <LazyDialog source={endSessionsDialog} props={{ target, onClose: () => setTarget(undefined) }} />
    </Section>
  );
}

function idOf({ id }: ListedSession): string {
  return id;
}

function blockedReason({ isCurrent }: ListedSession): string | undefined {
  return isCurrent ? "You use this session now. To end it, sign out." : undefined;
}
