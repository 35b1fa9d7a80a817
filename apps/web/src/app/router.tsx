import { createRoute, createRouter, redirect } from "@tanstack/react-router";
import { findHomeWorkspace } from "../server/remembered-workspace.ts";
import { LoadingFailure } from "./loading-failure.tsx";
import { NotFoundPage } from "./not-found-page.tsx";
import { parseQuery, stringifyQuery } from "./query-string.ts";
import { accountRoutes } from "./routes/account-routes.ts";
import { appRoute } from "./routes/app-route.ts";
import { operatorRoutes } from "./routes/operator-routes.ts";
import { rootRoute } from "./routes/root-route.ts";
import { sessionRoutes } from "./routes/session-routes.ts";
import { workspaceRoutes } from "./routes/workspace-routes.ts";

const homeRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "/",
  beforeLoad: ({ context }) => {
    const workspace = findHomeWorkspace(context.session.workspaces);
    throw workspace
      ? redirect({ to: "/w/$slug", params: { slug: workspace.slug }, replace: true })
      : redirect({ to: "/account/api-keys", replace: true });
  },
});

const notFoundRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "$",
  component: NotFoundPage,
});

const routeTree = rootRoute.addChildren([
  ...sessionRoutes,
  appRoute.addChildren([homeRoute, workspaceRoutes, ...accountRoutes, ...operatorRoutes, notFoundRoute]),
]);

export const router = createRouter({
  routeTree,
  parseSearch: parseQuery,
  stringifySearch: stringifyQuery,
  // Without `strict`, pages also receive the query parameters that `validateSearch` left out.
  search: { strict: true },
  defaultErrorComponent: LoadingFailure,
  defaultNotFoundComponent: NotFoundPage,
  defaultPendingMs: 150,
  defaultPendingMinMs: 0,
  defaultPreload: "intent",
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
