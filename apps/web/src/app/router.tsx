import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  notFound,
  redirect,
} from "@tanstack/react-router";
import { parseApiKeysSearch } from "../features/api-keys/api-keys-search.ts";
import { parseKeyPageSearch } from "../features/api-keys/key-page-search.ts";
import {
  parseServiceAccountKeysSearch,
  parseServiceAccountsSearch,
} from "../features/api-keys/service-accounts/service-accounts-search.ts";
import { apiKeysQuery } from "../features/api-keys/use-api-keys.ts";
import { parseAuditLogSearch } from "../features/audit-log/audit-log-search.ts";
import { parseInvitationsSearch } from "../features/members/invitations-search.ts";
import { parseMembersSearch } from "../features/members/members-search.ts";
import { membersQuery } from "../features/members/use-members.ts";
import { parseNoticesSearch } from "../features/notices/notices-search.ts";
import { parseLogSearch } from "../features/operator/log-search.ts";
import { parseUsersSearch } from "../features/operator/users-search.ts";
import { parseWorkspacesSearch } from "../features/operator/workspaces-search.ts";
import { parseSecuritySearch } from "../features/security/security-search.ts";
import { findSameOriginPath } from "../features/session/same-origin-path.ts";
import { SessionSkeleton } from "../features/session/session-skeleton.tsx";
import { parseDeliveriesSearch, parseWebhooksSearch } from "../features/webhooks/webhooks-search.ts";
import { parseWorkspaceKeysSearch } from "../features/workspace-keys/workspace-keys-search.ts";
import { queryClient } from "../server/query-client.ts";
import { findHomeWorkspace } from "../server/remembered-workspace.ts";
import { type Session, trpc } from "../server/trpc.ts";
import { parseUsageRange } from "../ui/usage-ranges.ts";
import { LoadingFailure } from "./loading-failure.tsx";
import { NotFoundPage } from "./not-found-page.tsx";
import { parseQuery, stringifyQuery } from "./query-string.ts";
import { Root } from "./root.tsx";
import { Shell } from "./shell/shell.tsx";
import { ShellSkeleton } from "./shell/shell-skeleton.tsx";
import { WorkspaceGate } from "./workspace-gate.tsx";

const rootRoute = createRootRoute({ component: Root });

async function loadSession() {
  // tRPC batches the three calls into one request. Pages read the instance and its permissions from
  // the cache.
  const [session] = await Promise.all([
    queryClient.ensureQueryData(trpc.session.current.queryOptions(undefined, { staleTime: Infinity })),
    queryClient.ensureQueryData(trpc.instance.get.queryOptions(undefined, { staleTime: Infinity })),
    queryClient.ensureQueryData(trpc.instance.permissions.queryOptions(undefined, { staleTime: Infinity })),
  ]);
  return session;
}

/**
 * Whether the instance has no accounts yet. False if the call fails, because most instances have
 * accounts.
 */
async function hasNoAccounts(): Promise<boolean> {
  return await queryClient.fetchQuery(trpc.instance.isFresh.queryOptions()).catch(() => false);
}

interface SignInSearch {
  readonly next?: string;
  /** Present if the user is redirected here because the session ended. */
  readonly ended?: "yes";
}

function parseSignInSearch(search: Record<string, unknown>): SignInSearch {
  const next = findSameOriginPath(search.next, window.location.origin);
  return { ...(next && { next }), ...(search.ended === "yes" && { ended: "yes" }) };
}

/** Redirects a signed-in user to the page in `next`. */
async function redirectIfSignedIn({ search }: { readonly search: SignInSearch }) {
  if (await loadSession()) throw redirect({ href: search.next ?? "/", replace: true });
}

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/sign-in",
  validateSearch: parseSignInSearch,
  beforeLoad: redirectIfSignedIn,
  component: lazyRouteComponent(() => import("../features/session/sign-in-page.tsx"), "SignInPage"),
  pendingComponent: SessionSkeleton,
});

interface OpenidSearch {
  readonly code?: string;
  readonly state?: string;
  readonly iss?: string;
}

/** What the OpenID provider adds to the URL. */
function parseOpenidSearch({ code, state, iss }: Record<string, unknown>): OpenidSearch {
  return {
    ...(typeof code === "string" && { code }),
    ...(typeof state === "string" && { state }),
    ...(typeof iss === "string" && { iss }),
  };
}

const openidRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/sign-in/openid",
  validateSearch: parseOpenidSearch,
  component: lazyRouteComponent(() => import("../features/session/openid-page.tsx"), "OpenidPage"),
  pendingComponent: SessionSkeleton,
});

const signUpRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/sign-up",
  validateSearch: parseSignInSearch,
  beforeLoad: async (visit) => {
    // tRPC batches both. Without the second result, the page could first say that sign-up is closed, and then show the form.
    await Promise.all([redirectIfSignedIn(visit), hasNoAccounts()]);
  },
  component: lazyRouteComponent(() => import("../features/session/sign-up-page.tsx"), "SignUpPage"),
  pendingComponent: SessionSkeleton,
});

const forgotPasswordRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/forgot-password",
  beforeLoad: async () => {
    await loadSession();
  },
  component: lazyRouteComponent(
    () => import("../features/session/forgot-password-page.tsx"),
    "ForgotPasswordPage",
  ),
  pendingComponent: SessionSkeleton,
});

const resetPasswordRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/reset-password",
  component: lazyRouteComponent(
    () => import("../features/session/reset-password-page.tsx"),
    "ResetPasswordPage",
  ),
  pendingComponent: SessionSkeleton,
});

const confirmEmailRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/confirm-email",
  component: lazyRouteComponent(
    () => import("../features/session/confirm-email-page.tsx"),
    "ConfirmEmailPage",
  ),
  pendingComponent: SessionSkeleton,
});

const invitationRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/invitation",
  beforeLoad: async () => {
    await loadSession();
  },
  component: lazyRouteComponent(() => import("../features/session/invitation-page.tsx"), "InvitationPage"),
  pendingComponent: SessionSkeleton,
});

const appRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: "app",
  beforeLoad: async ({ location }) => {
    const session = await loadSession();
    if (session) return { session };
    const isHome = location.pathname === "/";
    if (isHome && (await hasNoAccounts())) throw redirect({ to: "/sign-up", replace: true });
    throw redirect({ to: "/sign-in", search: isHome ? {} : { next: location.href }, replace: true });
  },
  component: Shell,
  pendingComponent: ShellSkeleton,
});

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

const workspaceRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "/w/$slug",
  beforeLoad: ({ context, params }) => {
    const workspace = context.session.workspaces.find(({ slug }) => slug === params.slug);
    if (!workspace) throw notFound();
    return { workspace };
  },
  loader: ({ context: { workspace } }) =>
    void queryClient.prefetchQuery(trpc.workspaces.get.queryOptions({ workspaceId: workspace.id })),
  component: WorkspaceGate,
  notFoundComponent: NotFoundPage,
});

const overviewRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: "/",
  validateSearch: parseUsageRange,
  loader: ({ context: { workspace } }) => {
    void queryClient.prefetchQuery(trpc.apiKeys.summary.queryOptions());
    void queryClient.prefetchQuery(trpc.ownership.get.queryOptions({ workspaceId: workspace.id }));
  },
  component: lazyRouteComponent(() => import("../features/overview/overview-page.tsx"), "OverviewPage"),
});

const workspaceKeysRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: "/api-keys",
  validateSearch: parseWorkspaceKeysSearch,
  component: lazyRouteComponent(
    () => import("../features/workspace-keys/workspace-keys-page.tsx"),
    "WorkspaceKeysPage",
  ),
});

const membersRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: "/members",
  validateSearch: parseMembersSearch,
  loaderDeps: ({ search }) => search,
  loader: ({ context: { workspace }, deps }) => {
    void queryClient.prefetchInfiniteQuery(membersQuery(workspace.id, deps));
    void queryClient.prefetchQuery(trpc.ownership.get.queryOptions({ workspaceId: workspace.id }));
  },
  component: lazyRouteComponent(() => import("../features/members/members-page.tsx"), "MembersPage"),
});

const invitationsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: "/members/invitations",
  validateSearch: parseInvitationsSearch,
  component: lazyRouteComponent(() => import("../features/members/invitations-page.tsx"), "InvitationsPage"),
});

const serviceAccountsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: "/members/service-accounts",
  validateSearch: parseServiceAccountsSearch,
  component: lazyRouteComponent(
    () => import("../features/api-keys/service-accounts/service-accounts-page.tsx"),
    "ServiceAccountsPage",
  ),
});

const serviceAccountRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: "/members/service-accounts/$userId",
  validateSearch: parseServiceAccountKeysSearch,
  component: lazyRouteComponent(
    () => import("../features/api-keys/service-accounts/service-account-page.tsx"),
    "ServiceAccountPage",
  ),
});

const auditLogRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: "/audit",
  validateSearch: parseAuditLogSearch,
  component: lazyRouteComponent(() => import("../features/audit-log/audit-log-page.tsx"), "AuditLogPage"),
});

const webhooksRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: "/webhooks",
  validateSearch: parseWebhooksSearch,
  component: lazyRouteComponent(() => import("../features/webhooks/webhooks-page.tsx"), "WebhooksPage"),
});

const webhookRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: "/webhooks/$webhookId",
  validateSearch: parseDeliveriesSearch,
  component: lazyRouteComponent(() => import("../features/webhooks/webhook-page.tsx"), "WebhookPage"),
});

const settingsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: "/settings",
  component: lazyRouteComponent(() => import("../features/workspaces/settings-page.tsx"), "SettingsPage"),
});

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
  component: lazyRouteComponent(() => import("../features/api-keys/api-keys-page.tsx"), "ApiKeysPage"),
});

const apiKeyRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "/account/api-keys/$keyId",
  validateSearch: parseKeyPageSearch,
  loader: ({ params: { keyId } }) =>
    void queryClient.prefetchQuery(trpc.apiKeys.get.queryOptions({ id: keyId })),
  component: lazyRouteComponent(() => import("../features/api-keys/key-page.tsx"), "KeyPage"),
});

const profileRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "/account/profile",
  component: lazyRouteComponent(() => import("../features/account/profile-page.tsx"), "ProfilePage"),
});

const securityRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "/account/security",
  validateSearch: parseSecuritySearch,
  loader: () => void queryClient.prefetchQuery(trpc.account.sessions.queryOptions()),
  component: lazyRouteComponent(() => import("../features/security/security-page.tsx"), "SecurityPage"),
});

const noticesRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "/account/notices",
  validateSearch: parseNoticesSearch,
  component: lazyRouteComponent(() => import("../features/notices/notices-page.tsx"), "NoticesPage"),
});

const requestRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "/account/requests/$requestId",
  component: lazyRouteComponent(() => import("../features/requests/request-page.tsx"), "RequestPage"),
});

/** Anyone but an operator gets the page of a path that doesn't exist. */
function requireOperator({ context }: { readonly context: { readonly session: Session } }): void {
  if (!context.session.user.isOperator) throw notFound();
}

const operatorUsersRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "/operator/users",
  validateSearch: parseUsersSearch,
  beforeLoad: requireOperator,
  component: lazyRouteComponent(() => import("../features/operator/users-page.tsx"), "UsersPage"),
});

const operatorWorkspacesRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "/operator/workspaces",
  validateSearch: parseWorkspacesSearch,
  beforeLoad: requireOperator,
  component: lazyRouteComponent(() => import("../features/operator/workspaces-page.tsx"), "WorkspacesPage"),
});

const operatorInstanceRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "/operator/instance",
  beforeLoad: requireOperator,
  component: lazyRouteComponent(() => import("../features/operator/instance-page.tsx"), "InstancePage"),
});

const operatorLogRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "/operator/log",
  validateSearch: parseLogSearch,
  beforeLoad: requireOperator,
  component: lazyRouteComponent(() => import("../features/operator/log-page.tsx"), "LogPage"),
});

const notFoundRoute = createRoute({
  getParentRoute: () => appRoute,
  path: "$",
  component: NotFoundPage,
});

const routeTree = rootRoute.addChildren([
  signInRoute,
  signUpRoute,
  forgotPasswordRoute,
  openidRoute,
  resetPasswordRoute,
  confirmEmailRoute,
  invitationRoute,
  appRoute.addChildren([
    homeRoute,
    workspaceRoute.addChildren([
      overviewRoute,
      workspaceKeysRoute,
      membersRoute,
      invitationsRoute,
      serviceAccountsRoute,
      serviceAccountRoute,
      auditLogRoute,
      webhooksRoute,
      webhookRoute,
      settingsRoute,
    ]),
    accountRoute,
    apiKeysRoute,
    apiKeyRoute,
    requestRoute,
    profileRoute,
    securityRoute,
    noticesRoute,
    operatorUsersRoute,
    operatorWorkspacesRoute,
    operatorInstanceRoute,
    operatorLogRoute,
    notFoundRoute,
  ]),
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
