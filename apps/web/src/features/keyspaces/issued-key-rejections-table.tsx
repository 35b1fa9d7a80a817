import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { RejectionsTable } from "../../ui/rejections-table.tsx";
import { issuedKeyRejectionColumns, type ListedRejection } from "./issued-key-rejection-columns.tsx";

const route = getRouteApi("/app/w/$slug/keyspaces/$keyspaceId/keys/$keyId");

/** The rejected verifications of a key. */
export function IssuedKeyRejectionsTable({
  rejections,
}: {
  readonly rejections: readonly ListedRejection[];
}): ReactElement {
  return (
    <RejectionsTable
      label="Rejected and rate-limited verifications"
      nouns={["verification", "verifications"]}
      rejections={rejections}
      reasonOf={({ code }) => code}
      columns={issuedKeyRejectionColumns}
      search={route.useSearch()}
      navigate={route.useNavigate()}
    />
  );
}
