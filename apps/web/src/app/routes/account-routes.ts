import { createRoute, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { parseApiKeysSearch } from "../../features/api-keys/api-keys-search.ts";
import { parseKeyPageSearch } from "../../features/api-keys/key-page-search.ts";
import { apiKeysQuery } from "../../features/api-keys/use-api-keys.ts";
import { parseNoticesSearch } from "../../features/notices/notices-search.ts";
import { parseSecuritySearch } from "../../features/security/security-search.ts";
import { queryClient } from "../../server/query-client.ts";
import { trpc } from "../../server/trpc.ts";
import { appRoute } from "./app-route.ts";

const accountRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "/account",
  beforeLoad: () => {
    throw redirect({ to: "/account/api-keys", replace: true });
  },
});

const apiKeysRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "/account/api-keys",
  validateSearch: parseApiKeysSearch,
  loaderDeps: ({ search }) => search,
  loader: ({ deps }) => void queryClient.prefetchQuery(apiKeysQuery(deps)),
  component: lazyRouteComponent(() => import("../../features/api-keys/api-keys-page.tsx"), "ApiKeysPage"),
});

const apiKeyRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "/account/api-keys/$keyId",
  validateSearch: parseKeyPageSearch,
  loader: ({ params: { keyId } }) =>
    void queryClient.prefetchQuery(trpc.apiKeys.get.queryOptions({ id: keyId })),
  component: lazyRouteComponent(() => import("../../features/api-keys/key-page.tsx"), "KeyPage"),
});

const profileRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "/account/profile",
  loader: () => void queryClient.prefetchQuery(trpc.account.emailStatus.queryOptions()),
  component: lazyRouteComponent(() => import("../../features/account/profile-page.tsx"), "ProfilePage"),
});

const securityRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "/account/security",
  validateSearch: parseSecuritySearch,
  loader: () => {
    // In one batch. If each section loaded its own data, the number of requests would depend on when the page's scripts arrive.
    void queryClient.prefetchQuery(trpc.account.sessions.queryOptions());
    void queryClient.prefetchQuery(trpc.account.signInMethods.queryOptions());
    void queryClient.prefetchQuery(trpc.factors.get.queryOptions());
  },
  component: lazyRouteComponent(() => import("../../features/security/security-page.tsx"), "SecurityPage"),
});

const noticesRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "/account/notices",
  validateSearch: parseNoticesSearch,
  component: lazyRouteComponent(() => import("../../features/notices/notices-page.tsx"), "NoticesPage"),
});

const requestRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "/account/requests/$requestId",
  component: lazyRouteComponent(() => import("../../features/requests/request-page.tsx"), "RequestPage"),
});

/** The pages of the user's account. */
export const accountRoutes = [
  accountRoute,
  apiKeysRoute,
  apiKeyRoute,
  requestRoute,
  profileRoute,
  securityRoute,
  noticesRoute,
] as const;
