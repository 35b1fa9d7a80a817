import { useDisclosure, useHotkeys } from "@mantine/hooks";
import { getRouteApi, Outlet, useLocation, useParams } from "@tanstack/react-router";
import { type ReactElement, useEffect, useRef } from "react";
import {
  findHomeWorkspace,
  noSlug,
  rememberAuditLog,
  rememberOperator,
  rememberWorkspace,
} from "../../server/remembered-workspace.ts";
import { ExactTimes } from "../../ui/exact-times.ts";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { useSessionEnd } from "../use-session-end.ts";
import { useSessionRefresh } from "../use-session-refresh.ts";
import { useThemeColor } from "./appearance.ts";
import { Header } from "./header.tsx";
import { Navigation } from "./navigation.tsx";
import { OwnershipNotice } from "./ownership-notice.tsx";
import { Reauthentication } from "./reauthentication.tsx";
import classes from "./shell.module.css";
import { UnsavedInputGuard } from "./unsaved-input-guard.tsx";
import { useCollapsedNavigation } from "./use-collapsed-navigation.ts";
import { useExactTimes } from "./use-exact-times.ts";
import { useWorkspacePages } from "./use-workspace-pages.ts";

const route = getRouteApi("/app");
const navigationDrawer = {
  load: () => import("./navigation-drawer.tsx").then((module) => module.NavigationDrawer),
  closed: { isOpen: false },
};
const commandPalette = {
  load: () => import("./command-palette.tsx").then((module) => module.CommandPalette),
  closed: { isOpen: false },
};
const newWorkspaceDialog = {
  load: () =>
    import("../../features/workspaces/new-workspace-dialog.tsx").then((module) => module.NewWorkspaceDialog),
  closed: { isOpen: false },
};

/** The frame around every page of a signed-in user. */
export function Shell(): ReactElement {
  return (
    <UnsavedInputGuard>
      <Frame />
    </UnsavedInputGuard>
  );
}

function Frame(): ReactElement {
  const { session } = route.useRouteContext();
  const { isOperator } = session.user;
  const { slug } = useParams({ strict: false });
  const workspace =
    session.workspaces.find((candidate) => candidate.slug === slug) ?? findHomeWorkspace(session.workspaces);
  const { isCollapsed, onToggle } = useCollapsedNavigation();
  const [hasExactTimes] = useExactTimes();
  const [isDrawerOpen, drawer] = useDisclosure(false);
  const [isSearchOpen, search] = useDisclosure(false);
  const [isNewWorkspaceOpen, newWorkspace] = useDisclosure(false);
  const pagesOf = useWorkspacePages();
  const pages = workspace ? pagesOf(workspace) : [];
  const hasAuditLog = pages.some(({ link }) => link.to === "/w/$slug/audit");
  useHotkeys([["mod+K", search.toggle]], []);
  // The dialog is part of the frame, so opening another page would not close it.
  const main = useFocusOnNavigation(newWorkspace.close);
  useSessionEnd();
  useSessionRefresh();
  useThemeColor();
  useEffect(() => {
    if (!workspace) rememberWorkspace(noSlug);
    else if (workspace.slug === slug) rememberWorkspace(slug);
  }, [workspace, slug]);
  useEffect(() => {
    if (workspace) rememberAuditLog(workspace.slug, hasAuditLog);
  }, [workspace, hasAuditLog]);

  useEffect(() => rememberOperator(isOperator), [isOperator]);

  return (
    <div className={classes.shell} data-collapsed={isCollapsed || undefined}>
      <a className={classes.skip} href="#content">
        Skip to content
      </a>
      <Header
        session={session}
        workspace={workspace}
        onOpenNavigation={drawer.open}
        onOpenSearch={search.open}
        onNewWorkspace={newWorkspace.open}
      />
      <div className={classes.side}>
        <Navigation pages={pages} isOperator={isOperator} isCollapsed={isCollapsed} onToggle={onToggle} />
      </div>
      <LazyDialog
        source={navigationDrawer}
        props={{ pages, isOperator, isOpen: isDrawerOpen, onClose: drawer.close }}
      />
      <main className={classes.main} id="content" ref={main} tabIndex={-1}>
        <div className={classes.content}>
          <ExactTimes value={hasExactTimes}>
            {workspace && <OwnershipNotice ownId={session.user.id} workspace={workspace} />}
            <Outlet />
          </ExactTimes>
        </div>
      </main>
      <LazyDialog
        source={commandPalette}
        props={{
          session,
          workspace,
          isOpen: isSearchOpen,
          onClose: search.close,
          onNewWorkspace: newWorkspace.open,
        }}
      />
      <LazyDialog
        source={newWorkspaceDialog}
        props={{ isOpen: isNewWorkspaceOpen, onClose: newWorkspace.close }}
      />
      <Reauthentication email={session.user.email} />
    </div>
  );
}

/**
 * Calls `onNavigate` and moves the focus to the content when the page changes, so that keyboard and screen reader users
 * continue there.
 */
function useFocusOnNavigation(onNavigate: () => void) {
  const main = useRef<HTMLElement>(null);
  const path = useLocation({ select: (location) => location.pathname });
  const shownPath = useRef(path);
  useEffect(() => {
    if (shownPath.current === path) return;
    shownPath.current = path;
    onNavigate();
    main.current?.focus({ preventScroll: true });
  }, [path, onNavigate]);
  return main;
}
