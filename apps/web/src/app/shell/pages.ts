import { IconKey, IconLayoutDashboard } from "@tabler/icons-react";
import { linkOptions } from "@tanstack/react-router";

/** Pages of a workspace, in the order of the navigation and of the search. */
export function workspacePages(slug: string) {
  return [
    { label: "Overview", icon: IconLayoutDashboard, link: linkOptions({ to: "/w/$slug", params: { slug } }) },
  ] as const;
}

/** Pages of the person, in whatever workspace. */
export const accountPages = [
  { label: "API keys", icon: IconKey, link: linkOptions({ to: "/account/api-keys" }) },
] as const;
