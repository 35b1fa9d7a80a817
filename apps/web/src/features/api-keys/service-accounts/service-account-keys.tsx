import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { trpc } from "../../../server/trpc.ts";
import { isLoadingFailed, useLoadingFailure } from "../../../server/use-loading-failure.ts";
import { DataTable } from "../../../ui/data-table.tsx";
import { FailurePanel } from "../../../ui/failure-panel.tsx";
import sectionClasses from "../../../ui/section.module.css";
import { Section } from "../../../ui/section.tsx";
import { TableFooter } from "../../../ui/table-footer.tsx";
import { apiKeyColumns } from "../api-key-columns.tsx";

const refreshMilliseconds = 3_000;
/** As the server's page. */
const pageSize = 50;

interface ServiceAccountKeysProps {
  readonly workspaceId: string;
  readonly userId: string;
}

/** The API keys of a service account. Each opens the same page as one's own keys. */
export function ServiceAccountKeys({ workspaceId, userId }: ServiceAccountKeysProps): ReactElement {
  const navigate = useNavigate();
  const [page, setPage] = useState(1);
  const keys = useQuery({
    ...trpc.serviceAccounts.keys.queryOptions({ workspaceId, userId, page }),
    refetchInterval: ({ state }) => !isLoadingFailed(state) && refreshMilliseconds,
    placeholderData: keepPreviousData,
  });
  const failure = useLoadingFailure(keys);
  const total = keys.data?.total;
  return (
    <Section title="API keys" isWide>
      {failure ? (
        <FailurePanel
          title="Couldn’t load API keys"
          message={failure.message}
          requestId={failure.requestId}
          isRetrying={keys.isFetching}
          onRetry={() => void keys.refetch()}
        />
      ) : total === 0 ? (
        <p className={sectionClasses.words}>
          No API keys yet. Create one per script or service, so that you can disable each one separately.
        </p>
      ) : (
        <>
          <DataTable
            label="API keys of the service account"
            columns={apiKeyColumns}
            items={keys.data?.items}
            isStale={keys.isPlaceholderData}
            idOf={({ id }) => id}
            chosen={undefined}
            onOpen={({ id }) => void navigate({ to: "/account/api-keys/$keyId", params: { keyId: id } })}
          />
          {total !== undefined && total > pageSize && (
            <TableFooter page={page} size={pageSize} total={total} onPageChange={setPage} />
          )}
        </>
      )}
    </Section>
  );
}
