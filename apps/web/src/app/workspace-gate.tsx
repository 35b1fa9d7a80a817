import { useQuery } from "@tanstack/react-query";
import { Outlet, useRouteContext } from "@tanstack/react-router";
import { lazy, type ReactElement, Suspense } from "react";
import { trpc } from "../server/trpc.ts";
import { findObstacle } from "../server/workspace-obstacle.ts";

const WorkspaceObstaclePage = lazy(async () => ({
  default: (await import("./workspace-obstacle-page.tsx")).WorkspaceObstaclePage,
}));

/** The pages of a workspace, or why the user can't use them. */
export function WorkspaceGate(): ReactElement {
  const { session, workspace } = useRouteContext({ from: "/app/w/$slug" });
  const { data, error } = useQuery(trpc.workspaces.get.queryOptions({ workspaceId: workspace.id }));
  // Until the server responds, the session says whether the workspace is disabled, so that no page sends calls that fail.
  const known = workspace.isDisabled && !data ? "workspace_disabled" : undefined;
  const obstacle = error === null ? known : findObstacle(error);
  // Remounts the page for another workspace, so that neither its state nor its former data is kept.
  if (!obstacle) return <Outlet key={workspace.id} />;
  return (
    <Suspense>
      <WorkspaceObstaclePage obstacle={obstacle} session={session} workspace={workspace} />
    </Suspense>
  );
}
