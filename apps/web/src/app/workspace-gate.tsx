import { useQuery } from "@tanstack/react-query";
import { Outlet, useRouteContext } from "@tanstack/react-router";
import { lazy, type ReactElement, Suspense } from "react";
import { needsSecondFactor } from "../server/needs-second-factor.ts";
import { trpc } from "../server/trpc.ts";

const SecondFactorRequired = lazy(async () => ({
  default: (await import("./second-factor-required.tsx")).SecondFactorRequired,
}));

/** The pages of a workspace, or what the user has to do first. */
export function WorkspaceGate(): ReactElement {
  const { session, workspace } = useRouteContext({ from: "/app/w/$slug" });
  const { error } = useQuery(trpc.workspaces.get.queryOptions({ workspaceId: workspace.id }));
  if (error === null || !needsSecondFactor(error)) return <Outlet />;
  return (
    <Suspense>
      <SecondFactorRequired session={session} workspace={workspace} />
    </Suspense>
  );
}
