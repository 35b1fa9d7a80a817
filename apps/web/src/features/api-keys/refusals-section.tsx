import { Button, Skeleton } from "@mantine/core";
import { useDisclosure, useMediaQuery } from "@mantine/hooks";
import type { ReactElement } from "react";
import type { KeyRefusal } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import cardClasses from "../../ui/cards.module.css";
import { EventCard } from "../../ui/event-card.tsx";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { None } from "../../ui/none.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { RequestId } from "../../ui/request-id.tsx";
import { Section } from "../../ui/section.tsx";
import tableClasses from "../../ui/table.module.css";
import pageClasses from "./key-page.module.css";
import classes from "./refusals-section.module.css";
import { useKeyRefusals } from "./use-key-page.ts";

const shownAtFirst = 10;

/** The last 100 requests with a key that were not let in, and why. */
export function RefusalsSection({ keyId }: { readonly keyId: string }): ReactElement {
  const query = useKeyRefusals(keyId);
  const failure = useLoadingFailure(query);
  const [hasAll, all] = useDisclosure(false);
  const isNarrow = useMediaQuery("(max-width: 959px)", undefined, { getInitialValueInEffect: false });
  const refusals = query.data;
  const shown = hasAll ? refusals : refusals?.slice(0, shownAtFirst);
  const List = isNarrow ? Cards : Table;
  return (
    <Section title="Why was it rejected?">
      {failure ? (
        <FailurePanel
          title="Couldn’t load rejected requests"
          message={failure.message}
          requestId={failure.requestId}
          isRetrying={query.isFetching}
          onRetry={() => void query.refetch()}
        />
      ) : !refusals ? (
        <Skeleton h={120} />
      ) : refusals.length === 0 ? (
        <div className={pageClasses.box}>
          <p className={pageClasses.empty}>
            No request with this key was refused. The last 100 refusals stand here, each with its reason;
            callers are never told it.
          </p>
        </div>
      ) : (
        <>
          <List refusals={shown ?? []} />
          {refusals.length > shownAtFirst && (
            <Button variant="default" mt={12} onClick={all.toggle}>
              {hasAll ? `Show the latest ${shownAtFirst}` : `Show all ${refusals.length}`}
            </Button>
          )}
        </>
      )}
    </Section>
  );
}

interface ListProps {
  readonly refusals: readonly KeyRefusal[];
}

function Table({ refusals }: ListProps): ReactElement {
  return (
    <div className={tableClasses.frame}>
      <table
        className={`${tableClasses.table} ${tableClasses.wrapping} ${classes.table}`}
        aria-label="Rejected requests"
      >
        <thead>
          <tr>
            <th scope="col" className={classes.time}>
              Time
            </th>
            <th scope="col">Reason</th>
            <th scope="col" className={classes.request}>
              Request
            </th>
            <th scope="col" className={classes.address}>
              IP address
            </th>
            <th scope="col" className={classes.id}>
              Request ID
            </th>
          </tr>
        </thead>
        <tbody>
          {refusals.map(({ id, occurredAt, explanation, method, path, address, requestId }) => (
            <tr key={id}>
              <td>
                <RelativeTime at={occurredAt} />
              </td>
              <td>{explanation}</td>
              <td>
                <code className={pageClasses.mono}>
                  {method} {path}
                </code>
              </td>
              <td>{address ? <code className={pageClasses.mono}>{address}</code> : <None />}</td>
              <td>
                <RequestId requestId={requestId} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cards({ refusals }: ListProps): ReactElement {
  return (
    <ul className={cardClasses.list} aria-label="Rejected requests">
      {refusals.map(({ id, occurredAt, explanation, method, path, address, requestId }) => (
        <EventCard
          key={id}
          head={
            <code className={pageClasses.mono}>
              {method} {path}
            </code>
          }
          occurredAt={occurredAt}
          address={address}
          requestId={requestId}
        >
          {explanation}
        </EventCard>
      ))}
    </ul>
  );
}
