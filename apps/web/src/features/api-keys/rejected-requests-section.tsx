import { Select, Skeleton } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { KeyRejection } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import cardClasses from "../../ui/cards.module.css";
import { EmptyCell } from "../../ui/empty-cell.tsx";
import { EventCard } from "../../ui/event-card.tsx";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { outcomeTitle } from "../../ui/outcome-titles.ts";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { RequestId } from "../../ui/request-id.tsx";
import { Section } from "../../ui/section.tsx";
import tableClasses from "../../ui/table.module.css";
import { TableFooter } from "../../ui/table-footer.tsx";
import { useTableNavigation } from "../../ui/use-table-navigation.ts";
import pageClasses from "./key-page.module.css";
import type { KeyPageSearch } from "./key-page-search.ts";
import classes from "./rejected-requests-section.module.css";
import { useRejectedRequests } from "./use-key-page.ts";

const route = getRouteApi("/app/account/api-keys/$keyId");
const pageSize = 10;
const anyReason = { value: "any", label: "Any reason" };

/** The last 100 rejected and rate-limited requests with a key, with their reasons. */
export function RejectedRequestsSection({ keyId }: { readonly keyId: string }): ReactElement {
  const query = useRejectedRequests(keyId);
  const failure = useLoadingFailure(query);
  const { reason, page = 1 } = route.useSearch();
  const isNarrow = useMediaQuery("(max-width: 959px)", undefined, { getInitialValueInEffect: false });
  const rejections = query.data;
  const matching = rejections?.filter((rejection) => reason === undefined || rejection.reason === reason);
  const shown = matching?.slice((page - 1) * pageSize, page * pageSize);
  // With the one in the URL, which can be of requests that are no longer in the list.
  const reasons = [
    ...new Set([...(rejections ?? []), ...(reason ? [{ reason }] : [])].map((item) => item.reason)),
  ];
  const list = useTableNavigation<KeyPageSearch>({
    navigate: route.useNavigate(),
    page,
    size: pageSize,
    total: matching?.length,
    isSection: true,
  });
  const List = isNarrow ? Cards : Table;
  return (
    <Section
      title="Rejected and rate-limited requests"
      action={
        (reasons.length > 1 || reason !== undefined) && (
          <Select
            w={240}
            aria-label="Reason"
            allowDeselect={false}
            data={[anyReason, ...reasons.map((value) => ({ value, label: outcomeTitle(value) }))]}
            value={reason ?? anyReason.value}
            onChange={(value) =>
              list.change({ reason: value === null || value === anyReason.value ? undefined : value })
            }
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
      ) : !rejections ? (
        <Skeleton h={120} />
      ) : rejections.length === 0 ? (
        <div className={pageClasses.box}>
          <p className={pageClasses.empty}>
            No request with this key was rejected or rate limited. The last 100 of these requests appear here,
            each with its reason. The reason isn’t sent to callers.
          </p>
        </div>
      ) : matching?.length === 0 ? (
        <div className={pageClasses.box}>
          <p className={pageClasses.empty}>None of the last 100 requests has this reason.</p>
        </div>
      ) : (
        <>
          <List rejections={shown ?? []} />
          <TableFooter
            page={page}
            size={pageSize}
            total={matching?.length ?? 0}
            onPageChange={list.openPage}
          />
        </>
      )}
    </Section>
  );
}

interface ListProps {
  readonly rejections: readonly KeyRejection[];
}

function Table({ rejections }: ListProps): ReactElement {
  return (
    <div className={tableClasses.frame}>
      <table
        className={`${tableClasses.table} ${tableClasses.wrapping} ${classes.table}`}
        aria-label="Rejected and rate-limited requests"
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
          {rejections.map(({ id, occurredAt, explanation, method, path, address, requestId }) => (
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
              <td>{address ? <code className={pageClasses.mono}>{address}</code> : <EmptyCell />}</td>
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

function Cards({ rejections }: ListProps): ReactElement {
  return (
    <ul className={cardClasses.list} aria-label="Rejected and rate-limited requests">
      {rejections.map(({ id, occurredAt, explanation, method, path, address, requestId }) => (
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
          isExplained
        >
          {explanation}
        </EventCard>
      ))}
    </ul>
  );
}
