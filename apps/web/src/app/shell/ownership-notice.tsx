import { useQuery } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";
import { lazy, type ReactElement, Suspense } from "react";
import { type SessionWorkspace, trpc } from "../../server/trpc.ts";

// Loaded only if there is a transfer, which is rare.
const OwnershipTransferNotice = lazy(async () => ({
  default: (await import("./ownership-transfer.tsx")).OwnershipTransferNotice,
}));

interface OwnershipNoticeProps {
  readonly ownId: string;
  readonly workspace: SessionWorkspace;
}

/** Shows the pending ownership transfer of a workspace on its overview and its members page. */
export function OwnershipNotice({ ownId, workspace }: OwnershipNoticeProps): ReactElement | null {
  const isShown = useLocation({ select: ({ pathname }) => /^\/w\/[^/]+(\/members)?\/?$/.test(pathname) });
  const { data: transfer } = useQuery(
    trpc.ownership.get.queryOptions({ workspaceId: workspace.id }, { enabled: isShown }),
  );
  if (!isShown || !transfer) return null;
  return (
    <Suspense>
      <OwnershipTransferNotice ownId={ownId} workspace={workspace} transfer={transfer} />
    </Suspense>
  );
}
