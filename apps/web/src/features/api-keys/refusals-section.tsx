import { Select, Skeleton } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { type ReactElement, useState } from "react";
import type { KeyRefusal } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import cardClasses from "../../ui/cards.module.css";
import { EventCard } from "../../ui/event-card.tsx";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { None } from "../../ui/none.tsx";
import { outcomeTitle } from "../../ui/outcome-titles.ts";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { RequestId } from "../../ui/request-id.tsx";
import { Section } from "../../ui/section.tsx";
import tableClasses from "../../ui/table.module.css";
import { TableFoot } from "../../ui/table-foot.tsx";
import { findLastPage } from "../../ui/table-search.ts";
import pageClasses from "./key-page.module.css";
import classes from "./refusals-section.module.css";
import { useKeyRefusals } from "./use-key-page.ts";

const pageSize = 10;
const anyReason = { value: "any", label: "Any reason" };

/** The last 100 rejected requests with a key, and why they were rejected. */
export function RefusalsSection({ keyId }: { readonly keyId: string }): ReactElement {
  const query = useKeyRefusals(keyId);
  const failure = useLoadingFailure(query);
  const [reason, setReason] = useState<string>();
  const [page, setPage] = useState(1);
  const isNarrow = useMediaQuery("(max-width: 959px)", undefined, { getInitialValueInEffect: false });
  const refusals = query.data;
  const matching = refusals?.filter((refusal) => reason === undefined || refusal.reason === reason);
  const lastPage = findLastPage(matching?.length ?? 0, pageSize);
  const current = Math.min(page, lastPage);
  const shown = matching?.slice((current - 1) * pageSize, current * pageSize);
  const reasons = [...new Set(refusals?.map((refusal) => refusal.reason))];
  const List = isNarrow ? Cards : Table;
  return (
    <Section
      title="Rejected requests"
      action={
        reasons.length > 1 && (
          <Select
            w={240}
            aria-label="Reason"
            allowDeselect={false}
            data={[anyReason, ...reasons.map((value) => ({ value, label: outcomeTitle(value) }))]}
            value={reason ?? anyReason.value}
            onChange={(value) => {
              setReason(value === null || value === anyReason.value ? undefined : value);
              setPage(1);
            }}
          />
        )
      }
    >
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
            No request with this key was rejected. The last 100 rejected requests appear here, each with its
            reason. Callers never learn the reason.
          </p>
        </div>
      ) : (
        <>
          <List refusals={shown ?? []} />
          <TableFoot page={current} size={pageSize} total={matching?.length ?? 0} onPage={setPage} />
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
                <RequestId requestId={requestId} isExplained />
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
