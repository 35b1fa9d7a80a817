import { useQuery } from "@tanstack/react-query";
import { Outlet, useRouteContext } from "@tanstack/react-router";
import { lazy, type ReactElement, Suspense, useState } from "react";
import { isUnanswered } from "../server/query-client.ts";
import { trpc } from "../server/trpc.ts";
import { findObstacle } from "../server/workspace-obstacle.ts";

const WorkspaceObstaclePage = lazy(async () => ({
  default: (await import("./workspace-obstacle-page.tsx")).WorkspaceObstaclePage,
}));

/** The pages of a workspace, or why the user can't use them. */
export function WorkspaceGate(): ReactElement {
  const { session, workspace } = useRouteContext({ from: "/app/w/$slug" });
  const { data, error } = useQuery(trpc.workspaces.get.queryOptions({ workspaceId: workspace.id }));
  const found = error === null ? undefined : findObstacle(error);
  const [last, setLast] = useState({ workspaceId: workspace.id, obstacle: found });
  const isAnswered = error === null ? data !== undefined : !isUnanswered(error);
  if (last.workspaceId !== workspace.id || (isAnswered && last.obstacle !== found))
    setLast({ workspaceId: workspace.id, obstacle: found });
  // While a rejected call is repeated, and if it then gets no response, the last answer applies. Before the first answer, the session
  // says whether the workspace is disabled, so that no page sends calls that fail.
  const isKnownDisabled = workspace.isDisabled && data === undefined;
  const known = last.obstacle ?? (isKnownDisabled ? "workspace_disabled" : undefined);
  const obstacle = isAnswered ? found : known;
  // Remounts the page for another workspace, so that neither its state nor its former data is kept.
  if (!obstacle) return <Outlet key={workspace.id} />;
  return (
    <Suspense>
      <WorkspaceObstaclePage obstacle={obstacle} session={session} workspace={workspace} />
    </Suspense>
  );
}
