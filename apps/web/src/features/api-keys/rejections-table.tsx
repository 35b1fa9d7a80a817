import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { KeyRejection } from "../../server/trpc.ts";
import { RejectionsTable as Table } from "../../ui/rejections-table.tsx";
import { ownRejectionColumns, serviceRejectionColumns } from "./rejection-columns.tsx";
import { useKey } from "./use-key-page.ts";

const route = getRouteApi("/app/account/api-keys/$keyId");

/** The rejected requests with a key. */
export function RejectionsTable({
  rejections,
}: {
  readonly rejections: readonly KeyRejection[];
}): ReactElement {
  const { data: apiKey } = useKey(route.useParams().keyId);
  return (
    <Table
      label="Rejected and rate-limited requests"
      nouns={["request", "requests"]}
      rejections={rejections}
      reasonOf={({ reason }) => reason}
      columns={apiKey?.serviceAccount ? serviceRejectionColumns : ownRejectionColumns}
      search={route.useSearch()}
      navigate={route.useNavigate()}
    />
  );
}
