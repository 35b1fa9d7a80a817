import type { ReactElement } from "react";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { RejectionsSection } from "../../ui/rejections-section.tsx";
import { useRejectedRequests } from "./use-key-page.ts";

const table = {
  load: () => import("./rejections-table.tsx").then((module) => module.RejectionsTable),
};

/** The last 100 rejected and rate-limited requests with a key, with their reasons. */
export function RejectedRequestsSection({ keyId }: { readonly keyId: string }): ReactElement {
  const query = useRejectedRequests(keyId);
  return (
    <RejectionsSection
      title="Rejected and rate-limited requests"
      failureTitle="Couldn’t load rejected requests"
      rejections={query.data}
      empty="No requests with this key have been rejected or rate limited. The last 100 appear here with their reasons, which callers don’t see."
      failure={useLoadingFailure(query)}
      isRetrying={query.isFetching}
      onRetry={() => void query.refetch()}
      table={table}
    />
  );
}
