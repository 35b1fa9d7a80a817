import { ActionIcon, UnstyledButton } from "@mantine/core";
import { IconBook2, IconMenu2, IconSearch } from "@tabler/icons-react";
import { useSuspenseQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { type Session, type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { Logo } from "../../ui/logo.tsx";
import { AccountMenu } from "./account-menu.tsx";
import classes from "./header.module.css";
import { NoticeBell } from "./notice-bell.tsx";
import { WorkspaceSwitcher } from "./workspace-switcher.tsx";

interface HeaderProps {
  readonly session: Session;
  readonly workspace: SessionWorkspace | undefined;
  readonly onOpenNavigation: () => void;
  readonly onOpenSearch: () => void;
  readonly onNewWorkspace: () => void;
}

const isApple = /Mac|iPhone|iPad/.test(navigator.platform);

export function Header(props: HeaderProps): ReactElement {
  const { session, workspace, onOpenNavigation, onOpenSearch, onNewWorkspace } = props;
  const { data: instance } = useSuspenseQuery(trpc.instance.get.queryOptions());
  return (
    <header className={classes.header}>
      <div className={classes.left}>
        <ActionIcon
          className={classes.menu}
          variant="subtle"
          color="gray"
          size={32}
          aria-label="Open navigation"
          onClick={onOpenNavigation}
        >
          <IconMenu2 size={20} />
        </ActionIcon>
        <Link to="/" className={classes.mark} aria-label="Latchkey, go to the overview">
          <Logo />
        </Link>
        <WorkspaceSwitcher
          workspaces={session.workspaces}
          current={workspace}
          onNewWorkspace={onNewWorkspace}
        />
      </div>
      <UnstyledButton
        className={classes.search}
        onClick={onOpenSearch}
        aria-label="Search or jump to"
        aria-keyshortcuts="Control+K Meta+K"
      >
        <IconSearch size={16} />
        <span className={classes.searchWords}>Search or jump to</span>
        <kbd className={classes.shortcut} data-keys={isApple ? "⌘ K" : "Ctrl K"} />
      </UnstyledButton>
      <div className={classes.right}>
        <a
          className={classes.docs}
          href={instance.documentationUrl}
          target="_blank"
          rel="noreferrer"
          aria-label="Docs, opens in a new tab"
        >
          <IconBook2 size={18} />
          <span className={classes.docsWord}>Docs</span>
        </a>
        <NoticeBell initialCount={session.unreadNoticeCount} />
        <AccountMenu user={session.user} />
      </div>
    </header>
  );
}
