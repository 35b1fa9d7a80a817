import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { KeyRejection } from "../../server/trpc.ts";
import { RejectionsTable as Table } from "../../ui/rejections-table.tsx";
import { rejectionColumns } from "./rejection-columns.tsx";

const route = getRouteApi("/app/account/api-keys/$keyId");

/** The rejected requests with a key. */
export function RejectionsTable({
  rejections,
}: {
  readonly rejections: readonly KeyRejection[];
}): ReactElement {
  return (
    <Table
      label="Rejected and rate-limited requests"
      nouns={["request", "requests"]}
      rejections={rejections}
      reasonOf={({ reason }) => reason}
      columns={rejectionColumns}
      search={route.useSearch()}
      navigate={route.useNavigate()}
    />
  );
}
