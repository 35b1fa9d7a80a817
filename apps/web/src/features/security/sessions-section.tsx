import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useCallback, useState } from "react";
import { type ListedSession, trpc } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import type { DataColumn } from "../../ui/data-table.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { EmptyCell } from "../../ui/empty-cell.tsx";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { Section } from "../../ui/section.tsx";
import { Tag } from "../../ui/tag.tsx";
import { describeDevice } from "./describe-device.ts";
import type { SessionsToEnd } from "./end-sessions-dialog.tsx";
import classes from "./security-page.module.css";

const endSessionsDialog = {
  load: () => import("./end-sessions-dialog.tsx").then((module) => module.EndSessionsDialog),
  closed: { target: undefined },
};

const columns: readonly [DataColumn<ListedSession>, ...DataColumn<ListedSession>[]] = [
  {
    id: "device",
    label: "Device",
    minWidth: 200,
    grow: 2,
    rank: 0,
    cell: ({ device, isCurrent }) => (
      <span className={classes.device}>
        {describeDevice(device)}
        {isCurrent && <Tag>This session</Tag>}
      </span>
    ),
  },
  {
    id: "address",
    label: "IP address",
    minWidth: 136,
    rank: 2,
    cell: ({ address }) => (address ? <code className={classes.mono}>{address}</code> : <EmptyCell />),
  },
  {
    id: "lastUsedAt",
    label: "Last used",
    isTime: true,
    minWidth: 112,
    rank: 1,
    cell: ({ lastUsedAt }) => <RelativeTime at={lastUsedAt} />,
  },
  {
    id: "createdAt",
    label: "Signed in",
    isTime: true,
    minWidth: 112,
    rank: 3,
    cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
  },
];

/** The user's sessions, each of which can be ended. */
export function SessionsSection(): ReactElement {
  const sessions = useQuery(trpc.account.sessions.queryOptions());
  const failure = useLoadingFailure(sessions);
  const [target, setTarget] = useState<SessionsToEnd>();
  const actions = useCallback(
    (session: ListedSession) =>
      session.isCurrent ? null : (
        <Button
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
        others > 0 && (
          <Button variant="default" onClick={() => setTarget({ kind: "others", count: others })}>
            End all other sessions
          </Button>
        )
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
        <DataTable
          label="Sessions"
          columns={columns}
          items={sessions.data}
          isStale={false}
          idOf={idOf}
          chosen={undefined}
          actions={actions}
        />
      )}
      <LazyDialog source={endSessionsDialog} props={{ target, onClose: () => setTarget(undefined) }} />
    </Section>
  );
}

function idOf({ id }: ListedSession): string {
  return id;
}
