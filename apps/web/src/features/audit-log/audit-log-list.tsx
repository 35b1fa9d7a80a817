import { Skeleton } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import type { ReactElement } from "react";
import { describeActor, describeEvent } from "../../server/describe-event.ts";
import type { AuditEvent } from "../../server/trpc.ts";
import cardClasses from "../../ui/cards.module.css";
import { EventCard } from "../../ui/event-card.tsx";
import { EventSentence } from "../../ui/event-sentence.tsx";
import { None } from "../../ui/none.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { RequestId } from "../../ui/request-id.tsx";
import tableClasses from "../../ui/table.module.css";
import classes from "./audit-log-list.module.css";

interface AuditLogListProps {
  /** Undefined while they load: placeholders of the same shape stand in. */
  readonly events: readonly AuditEvent[] | undefined;
  /** Whether they answer the filter before, while those of now load. */
  readonly isOld: boolean;
}

/** The events as rows, or as cards where rows have no room. */
export function AuditLogList(props: AuditLogListProps): ReactElement {
  const isNarrow = useMediaQuery("(max-width: 959px)", undefined, { getInitialValueInEffect: false });
  return isNarrow ? <Cards {...props} /> : <Table {...props} />;
}

const placeholders = ["62%", "40%", "51%", "34%", "58%", "46%"];

function Table({ events, isOld }: AuditLogListProps): ReactElement {
  return (
    <div className={tableClasses.frame}>
      <table
        className={`${tableClasses.table} ${tableClasses.wrapping} ${classes.table}`}
        aria-label="Audit log"
        aria-busy={!events || isOld}
        data-old={isOld || undefined}
      >
        <thead>
          <tr>
            <th scope="col" className={classes.time}>
              Time
            </th>
            <th scope="col" className={classes.who}>
              Who
            </th>
            <th scope="col">What</th>
            <th scope="col" className={classes.address}>
              IP address
            </th>
            <th scope="col" className={classes.request}>
              Request ID
            </th>
          </tr>
        </thead>
        <tbody>
          {events
            ? events.map((event) => <Row key={event.id} event={event} />)
            : placeholders.map((width) => <RowSkeleton key={width} width={width} />)}
        </tbody>
      </table>
    </div>
  );
}

interface EventProps {
  readonly event: AuditEvent;
}

function Row({ event }: EventProps): ReactElement {
  return (
    <tr>
      <td className={classes.time}>
        <RelativeTime at={event.occurredAt} />
      </td>
      <td>
        <Who event={event} />
      </td>
      <td>
        <EventSentence pieces={describeEvent(event)} />
      </td>
      <td>{event.address ? <code className={classes.mono}>{event.address}</code> : <None />}</td>
      <td>{event.requestId ? <RequestId requestId={event.requestId} /> : <None />}</td>
    </tr>
  );
}

function RowSkeleton({ width }: { readonly width: string }): ReactElement {
  return (
    <tr>
      {["72%", "56%", width, "64%", "80%"].map((cell, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the columns never change
        <td key={place}>
          <Skeleton h={12} my={4} w={cell} />
        </td>
      ))}
    </tr>
  );
}

function Cards({ events, isOld }: AuditLogListProps): ReactElement {
  return (
    <ul
      className={cardClasses.list}
      aria-label="Audit log"
      aria-busy={!events || isOld}
      data-old={isOld || undefined}
    >
      {events
        ? events.map((event) => <Card key={event.id} event={event} />)
        : [1, 2, 3, 4].map((place) => (
            <li key={place} className={cardClasses.card}>
              <Skeleton h={12} my={4} w="50%" />
              <Skeleton h={12} mt={12} mb={4} w="80%" />
              <Skeleton h={12} mt={12} />
            </li>
          ))}
    </ul>
  );
}

function Card({ event }: EventProps): ReactElement {
  return (
    <EventCard
      head={
        <div>
          <Who event={event} />
        </div>
      }
      occurredAt={event.occurredAt}
      address={event.address}
      requestId={event.requestId}
    >
      <EventSentence pieces={describeEvent(event)} />
    </EventCard>
  );
}

function Who({ event }: { readonly event: AuditEvent }): ReactElement {
  const { keyId } = event.actor;
  return (
    <>
      <bdi className={classes.actor}>{describeActor(event)}</bdi>
      {keyId && (
        <span className={classes.via} title={keyId}>
          via key <code className={classes.mono}>{keyId}</code>
        </span>
      )}
    </>
  );
}
