import { createRoute, redirect } from "@tanstack/react-router";
import { Shell } from "../shell/shell.tsx";
import { ShellSkeleton } from "../shell/shell-skeleton.tsx";
import { hasNoAccounts, loadSession } from "./load-session.ts";
import { rootRoute } from "./root-route.ts";

/** The parent of the pages of signed-in users. */
export const appRoute = createRoute({
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
