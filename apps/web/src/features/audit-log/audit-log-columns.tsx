import type { ReactElement } from "react";
import { describeActor, describeEvent } from "../../server/describe-event.ts";
import type { AuditEvent } from "../../server/trpc.ts";
import type { DataColumn } from "../../ui/data-table.tsx";
import { EmptyCell } from "../../ui/empty-cell.tsx";
import { EventSentence } from "../../ui/event-sentence.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { RequestId } from "../../ui/request-id.tsx";
import { Tag } from "../../ui/tag.tsx";
import classes from "./audit-log-columns.module.css";

/** The columns of the audit log of a workspace. */
export const auditLogColumns: readonly [DataColumn<AuditEvent>, ...DataColumn<AuditEvent>[]] = [
  {
    id: "who",
    label: "Who",
    minWidth: 160,
    rank: 0,
    cell: (event) => <ActorCell event={event} />,
  },
  {
    id: "what",
    label: "What",
    minWidth: 220,
    isWide: true,
    grow: 3,
    rank: 1,
    cell: (event) => (
      <span className={classes.sentence}>
        <EventSentence pieces={describeEvent(event)} />
      </span>
    ),
  },
  {
    id: "time",
    label: "Time",
    isTime: true,
    minWidth: 112,
    grow: 0,
    rank: 2,
    cell: ({ occurredAt }) => <RelativeTime at={occurredAt} />,
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

function ActorCell({ event }: { readonly event: AuditEvent }): ReactElement {
  const { keyId, userKind } = event.actor;
  return (
    <span className={classes.who}>
      <span>
        <bdi>{describeActor(event)}</bdi>
        {userKind === "service_account" && (
          <>
            {" "}
            <Tag>Service account</Tag>
          </>
        )}
      </span>
      {keyId && (
        <span className={classes.via} title={keyId}>
          via key <code className={classes.mono}>{keyId}</code>
        </span>
      )}
    </span>
  );
}
