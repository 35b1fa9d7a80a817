import {
  IconBell,
  IconBuildings,
  IconColumns,
  IconHeartbeat,
  IconHistory,
  IconKey,
  IconLayoutDashboard,
  IconSettings,
  IconShieldLock,
  IconUserCircle,
  IconUsers,
  IconWebhook,
} from "@tabler/icons-react";
import { linkOptions } from "@tanstack/react-router";

interface WorkspacePagesOptions {
  /** Whether the user may see the audit log. */
  readonly hasAuditLog: boolean;
  /** Whether the user may manage webhooks. */
  readonly hasWebhooks: boolean;
}

/** Pages of a workspace, in the order of the navigation and of the search. */
export function workspacePages(slug: string, { hasAuditLog, hasWebhooks }: WorkspacePagesOptions) {
  const params = { slug };
  const auditLog = {
    label: "Audit log",
    icon: IconHistory,
    link: linkOptions({ to: "/w/$slug/audit", params }),
  } as const;
  const webhooks = {
    label: "Webhooks",
    icon: IconWebhook,
    link: linkOptions({ to: "/w/$slug/webhooks", params }),
  } as const;
  return [
    { label: "Overview", icon: IconLayoutDashboard, link: linkOptions({ to: "/w/$slug", params }) },
    { label: "API keys", icon: IconKey, link: linkOptions({ to: "/w/$slug/api-keys", params }) },
    { label: "Keyspaces", icon: IconColumns, link: linkOptions({ to: "/w/$slug/keyspaces", params }) },
    { label: "Members", icon: IconUsers, link: linkOptions({ to: "/w/$slug/members", params }) },
    ...(hasAuditLog ? [auditLog] : []),
    ...(hasWebhooks ? [webhooks] : []),
    { label: "Settings", icon: IconSettings, link: linkOptions({ to: "/w/$slug/settings", params }) },
  ] as const;
}

export type WorkspacePage = ReturnType<typeof workspacePages>[number];

/** Pages of the user's account. */
export const accountPages = [
  { label: "Your API keys", icon: IconKey, link: linkOptions({ to: "/account/api-keys" }) },
  { label: "Profile", icon: IconUserCircle, link: linkOptions({ to: "/account/profile" }) },
  { label: "Security", icon: IconShieldLock, link: linkOptions({ to: "/account/security" }) },
] as const;

/** The user's notices. The navigation doesn't list them, because the bell in the header is always visible. */
export const noticesPage = {
  label: "Notices",
  icon: IconBell,
  link: linkOptions({ to: "/account/notices" }),
} as const;

/** Pages of the instance, for operators. */
export const operatorPages = [
  { label: "Users", icon: IconUsers, link: linkOptions({ to: "/operator/users" }) },
  { label: "Workspaces", icon: IconBuildings, link: linkOptions({ to: "/operator/workspaces" }) },
  { label: "Instance health", icon: IconHeartbeat, link: linkOptions({ to: "/operator/instance" }) },
  { label: "Instance log", icon: IconHistory, link: linkOptions({ to: "/operator/log" }) },
] as const;
