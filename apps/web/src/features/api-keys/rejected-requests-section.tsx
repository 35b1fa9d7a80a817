import { Skeleton } from "@mantine/core";
import { type ReactElement, useState } from "react";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { Section } from "../../ui/section.tsx";
import { useLoaded } from "../../ui/use-loaded.ts";
import pageClasses from "./key-page.module.css";
import { useRejectedRequests } from "./use-key-page.ts";

// Loads the table only if there are rejected requests, which most keys don't have: with its code, the page would load more
// than the 300 kB that `e2e/first-load` allows.
const rejectionsTable = {
  load: () => import("./rejections-table.tsx").then((module) => module.RejectionsTable),
};

/** The last 100 rejected and rate-limited requests with a key, with their reasons. */
export function RejectedRequestsSection({ keyId }: { readonly keyId: string }): ReactElement {
  const query = useRejectedRequests(keyId);
  const failure = useLoadingFailure(query);
  const rejections = query.data;
  const [hasFailed, setHasFailed] = useState(false);
  const isNeeded = rejections !== undefined && rejections.length > 0 && !hasFailed;
  const RejectionsTable = useLoaded(rejectionsTable, isNeeded, () => setHasFailed(true));
  return (
    <Section title="Rejected and rate-limited requests">
      {failure || hasFailed ? (
        <FailurePanel
          title="Couldn’t load rejected requests"
          message={failure?.message ?? "Check your connection, then try again."}
          requestId={failure?.requestId}
          isRetrying={query.isFetching}
          onRetry={() => {
            setHasFailed(false);
            void query.refetch();
          }}
        />
      ) : rejections?.length === 0 ? (
        <div className={pageClasses.box}>
          <p className={pageClasses.empty}>
            No requests with this key have been rejected or rate limited. The last 100 appear here with their
            reasons, which callers don’t see.
          </p>
        </div>
      ) : rejections && RejectionsTable ? (
        <RejectionsTable rejections={rejections} />
      ) : (
        <Skeleton h={120} />
      )}
    </Section>
  );
}
