import { createRoute, lazyRouteComponent, notFound } from "@tanstack/react-router";
import {
  parseServiceAccountKeysSearch,
  parseServiceAccountsSearch,
} from "../../features/api-keys/service-accounts/service-accounts-search.ts";
import { parseAuditLogSearch } from "../../features/audit-log/audit-log-search.ts";
import { parseIssuedKeySearch } from "../../features/keyspaces/issued-key-search.ts";
import {
  parseConsumerSearch,
  parseConsumersSearch,
  parseIssuedKeysSearch,
  parseKeyspacesSearch,
} from "../../features/keyspaces/keyspaces-search.ts";
import { parseInvitationsSearch } from "../../features/members/invitations-search.ts";
import { parseMembersSearch } from "../../features/members/members-search.ts";
import { membersQuery } from "../../features/members/use-members.ts";
import { parseDeliveriesSearch, parseWebhooksSearch } from "../../features/webhooks/webhooks-search.ts";
import { parseWorkspaceKeysSearch } from "../../features/workspace-keys/workspace-keys-search.ts";
import { queryClient } from "../../server/query-client.ts";
import { trpc } from "../../server/trpc.ts";
import { parseUsageRange } from "../../ui/usage-range-search.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { WorkspaceGate } from "../workspace-gate.tsx";
import { appRoute } from "./app-route.ts";

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
  component: lazyRouteComponent(() => import("../../features/overview/overview-page.tsx"), "OverviewPage"),
});

const workspaceKeysRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: "/api-keys",
  validateSearch: parseWorkspaceKeysSearch,
  component: lazyRouteComponent(
    () => import("../../features/workspace-keys/workspace-keys-page.tsx"),
    "WorkspaceKeysPage",
  ),
});

const keyspacesRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: "/keyspaces",
  validateSearch: parseKeyspacesSearch,
  component: lazyRouteComponent(() => import("../../features/keyspaces/keyspaces-page.tsx"), "KeyspacesPage"),
});

const keyspaceRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: "/keyspaces/$keyspaceId",
  validateSearch: parseIssuedKeysSearch,
  loader: ({ context: { workspace }, params: { keyspaceId } }) => {
    const path = { workspaceId: workspace.id, keyspaceId };
    void queryClient.prefetchQuery(trpc.keyspaces.get.queryOptions(path));
    void queryClient.prefetchQuery(trpc.keyspaceUsage.latestOutcome.queryOptions(path));
  },
  component: lazyRouteComponent(() => import("../../features/keyspaces/keyspace-page.tsx"), "KeyspacePage"),
});

const consumersRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: "/keyspaces/$keyspaceId/consumers",
  validateSearch: parseConsumersSearch,
  loader: ({ context: { workspace }, params: { keyspaceId } }) =>
    void queryClient.prefetchQuery(
      trpc.keyspaces.get.queryOptions({ workspaceId: workspace.id, keyspaceId }),
    ),
  component: lazyRouteComponent(() => import("../../features/keyspaces/consumers-page.tsx"), "ConsumersPage"),
});

const consumerRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: "/keyspaces/$keyspaceId/consumers/$externalId",
  validateSearch: parseConsumerSearch,
  loader: ({ context: { workspace }, params: { keyspaceId, externalId } }) => {
    const path = { workspaceId: workspace.id, keyspaceId };
    void queryClient.prefetchQuery(trpc.keyspaces.get.queryOptions(path));
    void queryClient.prefetchQuery(trpc.consumers.get.queryOptions({ ...path, externalId }));
  },
  component: lazyRouteComponent(() => import("../../features/keyspaces/consumer-page.tsx"), "ConsumerPage"),
});

const keyspaceUsageRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: "/keyspaces/$keyspaceId/usage",
  validateSearch: parseUsageRange,
  loader: ({ context: { workspace }, params: { keyspaceId } }) =>
    void queryClient.prefetchQuery(
      trpc.keyspaces.get.queryOptions({ workspaceId: workspace.id, keyspaceId }),
    ),
  component: lazyRouteComponent(
    () => import("../../features/keyspaces/keyspace-usage-page.tsx"),
    "KeyspaceUsagePage",
  ),
});

const issuedKeyRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: "/keyspaces/$keyspaceId/keys/$keyId",
  validateSearch: parseIssuedKeySearch,
  loader: ({ context: { workspace }, params: { keyspaceId, keyId } }) => {
    const path = { workspaceId: workspace.id, keyspaceId };
    void queryClient.prefetchQuery(trpc.keyspaces.get.queryOptions(path));
    void queryClient.prefetchQuery(trpc.issuedKeys.get.queryOptions({ ...path, id: keyId }));
  },
  component: lazyRouteComponent(
    () => import("../../features/keyspaces/issued-key-page.tsx"),
    "IssuedKeyPage",
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
  component: lazyRouteComponent(() => import("../../features/members/members-page.tsx"), "MembersPage"),
});

const invitationsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: "/members/invitations",
  validateSearch: parseInvitationsSearch,
  component: lazyRouteComponent(
    () => import("../../features/members/invitations-page.tsx"),
    "InvitationsPage",
  ),
});

const serviceAccountsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: "/members/service-accounts",
  validateSearch: parseServiceAccountsSearch,
  component: lazyRouteComponent(
    () => import("../../features/api-keys/service-accounts/service-accounts-page.tsx"),
    "ServiceAccountsPage",
  ),
});

const serviceAccountRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: "/members/service-accounts/$userId",
  validateSearch: parseServiceAccountKeysSearch,
  component: lazyRouteComponent(
    () => import("../../features/api-keys/service-accounts/service-account-page.tsx"),
    "ServiceAccountPage",
  ),
});

const auditLogRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: "/audit",
  validateSearch: parseAuditLogSearch,
  component: lazyRouteComponent(() => import("../../features/audit-log/audit-log-page.tsx"), "AuditLogPage"),
});

const webhooksRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: "/webhooks",
  validateSearch: parseWebhooksSearch,
  component: lazyRouteComponent(() => import("../../features/webhooks/webhooks-page.tsx"), "WebhooksPage"),
});

const webhookRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: "/webhooks/$webhookId",
  validateSearch: parseDeliveriesSearch,
  component: lazyRouteComponent(() => import("../../features/webhooks/webhook-page.tsx"), "WebhookPage"),
});

const settingsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: "/settings",
  component: lazyRouteComponent(() => import("../../features/workspaces/settings-page.tsx"), "SettingsPage"),
});

/** The pages of a workspace. */
export const workspaceRoutes = workspaceRoute.addChildren([
  overviewRoute,
  workspaceKeysRoute,
  keyspacesRoute,
  keyspaceRoute,
  consumersRoute,
  consumerRoute,
  keyspaceUsageRoute,
  issuedKeyRoute,
  membersRoute,
  invitationsRoute,
  serviceAccountsRoute,
  serviceAccountRoute,
  auditLogRoute,
  webhooksRoute,
  webhookRoute,
  settingsRoute,
]);
