import type { ReactElement, ReactNode } from "react";
import cardClasses from "./cards.module.css";
import classes from "./event-card.module.css";
import { RelativeTime } from "./relative-time.tsx";
import { RequestId } from "./request-id.tsx";

interface EventCardProps {
  /** Who or what the event is about, next to the time. */
  readonly head: ReactNode;
  readonly occurredAt: string;
  readonly address: string | null;
  readonly requestId: string | null;
  /** Whether the request ID links to an explanation. */
  readonly isExplained?: boolean;
  /** What happened. */
  readonly children: ReactNode;
}

/** An event as an item of a list, for widths at which a table row doesn't fit. */
export function EventCard(props: EventCardProps): ReactElement {
  const { head, occurredAt, address, requestId, isExplained = false, children } = props;
  return (
    <li className={cardClasses.card}>
      <div className={classes.head}>
        {head}
        <span className={classes.time}>
          <RelativeTime at={occurredAt} />
        </span>
      </div>
      <p className={classes.words}>{children}</p>
      {(address ?? requestId) && (
        <div className={classes.facts}>
          <code className={classes.address}>{address}</code>
          {requestId && (
            <span className={classes.request}>
              <RequestId requestId={requestId} isExplained={isExplained} />
            </span>
          )}
        </div>
      )}
    </li>
  );
}
