import { createRoute, lazyRouteComponent, notFound } from "@tanstack/react-router";
import { parseLogSearch } from "../../features/operator/log-search.ts";
import { parseUsersSearch } from "../../features/operator/users-search.ts";
import { parseWorkspacesSearch } from "../../features/operator/workspaces-search.ts";
import type { Session } from "../../server/trpc.ts";
import { appRoute } from "./app-route.ts";

/** Anyone but an operator gets the page of a path that doesn't exist. */
function requireOperator({ context }: { readonly context: { readonly session: Session } }): void {
  if (!context.session.user.isOperator) throw notFound();
}

const operatorUsersRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "/operator/users",
  validateSearch: parseUsersSearch,
  beforeLoad: requireOperator,
  component: lazyRouteComponent(() => import("../../features/operator/users-page.tsx"), "UsersPage"),
});

const operatorWorkspacesRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "/operator/workspaces",
  validateSearch: parseWorkspacesSearch,
  beforeLoad: requireOperator,
  component: lazyRouteComponent(
    () => import("../../features/operator/workspaces-page.tsx"),
    "WorkspacesPage",
  ),
});

const operatorInstanceRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "/operator/instance",
  beforeLoad: requireOperator,
  component: lazyRouteComponent(() => import("../../features/operator/instance-page.tsx"), "InstancePage"),
});

const operatorLogRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "/operator/log",
  validateSearch: parseLogSearch,
  beforeLoad: requireOperator,
  component: lazyRouteComponent(() => import("../../features/operator/log-page.tsx"), "LogPage"),
});

/** The pages of operators. */
export const operatorRoutes = [
  operatorUsersRoute,
  operatorWorkspacesRoute,
  operatorInstanceRoute,
  operatorLogRoute,
] as const;
