import type { DataColumn } from "./data-column.ts";
import { EmptyCell } from "./empty-cell.tsx";
import classes from "./event-columns.module.css";
import { EventSentence, type Piece } from "./event-sentence.tsx";
import { RelativeTime } from "./relative-time.tsx";
import { RequestId } from "./request-id.tsx";

interface LoggedEvent {
  readonly occurredAt: string;
  readonly address: string | null;
  readonly requestId: string | null;
}

/** The column that says in a sentence what happened. */
export function sentenceColumn<Event>(
  column: Pick<DataColumn<Event>, "id" | "label" | "minWidth" | "rank">,
  describe: (event: Event) => readonly Piece[],
): DataColumn<Event> {
  return {
    ...column,
    isWide: true,
    grow: 3,
    cell: (event) => (
      <span className={classes.sentence}>
        <EventSentence pieces={describe(event)} />
      </span>
    ),
  };
}

/** The column of the time of an event. */
export function timeColumn<Event extends LoggedEvent>(rank: number): DataColumn<Event> {
  return {
    id: "time",
    label: "Time",
    order: "occurredAt",
    isTime: true,
    minWidth: 112,
    grow: 0,
    rank,
    cell: ({ occurredAt }) => <RelativeTime at={occurredAt} />,
  };
}

/** The column of IP addresses. */
export function ipAddressColumn<Item extends { readonly address: string | null }>(
  rank: number,
): DataColumn<Item> {
  return {
    id: "address",
    label: "IP address",
    minWidth: 136,
    grow: 0,
    rank,
    cell: ({ address }) => (address ? <code className={classes.mono}>{address}</code> : <EmptyCell />),
  };
}

/**
 * The column of the ID of the request that caused an event.
 * @param isExplained Whether the requests were rejected, and their IDs link to the reason.
 */
export function requestColumn<Event extends LoggedEvent>(
  rank: number,
  { isExplained = false } = {},
): DataColumn<Event> {
  return {
    id: "request",
    label: "Request ID",
    minWidth: 160,
    grow: 0,
    rank,
    cell: ({ requestId }) =>
      requestId ? <RequestId requestId={requestId} isExplained={isExplained} /> : <EmptyCell />,
  };
}
