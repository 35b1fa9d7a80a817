import { type ReactElement, useMemo } from "react";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { RejectionsSection } from "../../ui/rejections-section.tsx";
import { type IssuedKeyPath, useIssuedKeyRejections } from "./use-issued-key-history.ts";

const table = {
  load: () => import("./issued-key-rejections-table.tsx").then((module) => module.IssuedKeyRejectionsTable),
};

/** The last 100 rejected and rate-limited verifications of a key, with their reasons. */
export function IssuedKeyRejectionsSection({ path }: { readonly path: IssuedKeyPath }): ReactElement {
  const query = useIssuedKeyRejections(path);
  const { data } = query;
  const rejections = useMemo(
    () => data?.map(({ clientIp, ...rejection }) => ({ ...rejection, address: clientIp })),
    [data],
  );
  return (
    <RejectionsSection
      title="Rejected and rate-limited verifications"
      failureTitle="Couldn’t load rejected verifications"
      rejections={rejections}
      empty="No verifications of this key have been rejected or rate limited. The last 100 appear here with their reasons."
      failure={useLoadingFailure(query)}
      isRetrying={query.isFetching}
      onRetry={() => void query.refetch()}
      table={table}
    />
  );
}
