import { Skeleton } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import type { ReactElement } from "react";
import {
  findRememberedSlug,
  noSlug,
  wasAuditLogShown,
  wasOperator,
} from "../../server/remembered-workspace.ts";
import { Logo } from "../../ui/logo.tsx";
import headerClasses from "./header.module.css";
import { Navigation } from "./navigation.tsx";
import { type WorkspacePage, workspacePages } from "./pages.ts";
import classes from "./shell.module.css";
import { useCollapsedNavigation } from "./use-collapsed-navigation.ts";

/** The slug in the links of the navigation while the workspace is unknown. */
const unknownSlug = "-";

/**
 * The pages that the navigation last showed, so that its layout doesn't change when the session has
 * loaded.
 */
function rememberedPages(slug: string = findRememberedSlug() ?? unknownSlug): readonly WorkspacePage[] {
  // The roles that see the audit log manage webhooks too.
  const isShown = wasAuditLogShown(slug);
  return slug === noSlug ? [] : workspacePages(slug, { hasAuditLog: isShown, hasWebhooks: isShown });
}

/** The frame of the app while the session loads. */
export function ShellSkeleton(): ReactElement {
  const fold = useCollapsedNavigation();
  const { slug } = useParams({ strict: false });
  return (
    <div className={classes.shell} data-collapsed={fold.isCollapsed || undefined} aria-busy="true">
      <div className={headerClasses.header}>
        <div className={headerClasses.left}>
          <Logo />
          <Skeleton h={16} w={140} />
        </div>
        <Skeleton h={32} />
        <div className={headerClasses.right}>
          <Skeleton h={28} w={28} circle />
        </div>
      </div>
      <div className={classes.side}>
        <Navigation pages={rememberedPages(slug)} isOperator={wasOperator()} {...fold} />
      </div>
      <main className={classes.main} aria-label="Loading">
        <div className={classes.content}>
          <Skeleton h={28} w={180} />
          <Skeleton h={16} w="min(420px, 80%)" mt={8} />
        </div>
      </main>
    </div>
  );
}
