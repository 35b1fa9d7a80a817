import type { ReactElement } from "react";
import type { Session, SessionWorkspace } from "../server/trpc.ts";
import type { WorkspaceObstacle } from "../server/workspace-obstacle.ts";
import { SecondFactorRequired } from "./second-factor-required.tsx";
import { WorkspaceDisabled } from "./workspace-disabled.tsx";

interface WorkspaceObstacleProps {
  readonly obstacle: WorkspaceObstacle;
  readonly session: Session;
  readonly workspace: SessionWorkspace;
}

/** Replaces the pages of a workspace that the user can't use at present. */
export function WorkspaceObstaclePage({
  obstacle,
  session,
  workspace,
}: WorkspaceObstacleProps): ReactElement {
  if (obstacle === "workspace_disabled") return <WorkspaceDisabled workspace={workspace} />;
  return <SecondFactorRequired session={session} workspace={workspace} />;
}
