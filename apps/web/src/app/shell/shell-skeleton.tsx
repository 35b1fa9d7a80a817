import { Skeleton } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { findRememberedSlug, noSlug, wasAuditLogShown } from "../../server/remembered-workspace.ts";
import { Mark } from "../../ui/mark.tsx";
import headerClasses from "./header.module.css";
import { Navigation } from "./navigation.tsx";
import { type WorkspacePage, workspacePages } from "./pages.ts";
import classes from "./shell.module.css";
import { useNavigationFold } from "./use-navigation-fold.ts";

/** Leads nowhere yet: it only lets the navigation have its shape. */
const unknownSlug = "-";

/** The pages that the navigation had the last time, so that it need not change once more is known. */
function rememberedPages(slug: string = findRememberedSlug() ?? unknownSlug): readonly WorkspacePage[] {
  return slug === noSlug ? [] : workspacePages(slug, { hasAuditLog: wasAuditLogShown(slug) });
}

/** The frame while it is not known yet who is signed in. */
export function ShellSkeleton(): ReactElement {
  const fold = useNavigationFold();
  const { slug } = useParams({ strict: false });
  return (
    <div className={classes.shell} data-folded={fold.isFolded || undefined} aria-busy="true">
      <div className={headerClasses.header}>
        <div className={headerClasses.left}>
          <Mark />
          <Skeleton h={16} w={140} />
        </div>
        <Skeleton h={32} />
        <div className={headerClasses.right}>
          <Skeleton h={28} w={28} circle />
        </div>
      </div>
      <div className={classes.side}>
        <Navigation pages={rememberedPages(slug)} {...fold} />
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
