import { Menu, UnstyledButton } from "@mantine/core";
import { IconCheck, IconSelector } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { SessionWorkspace } from "../../server/trpc.ts";
import classes from "./workspace-switcher.module.css";

interface WorkspaceSwitcherProps {
  readonly workspaces: readonly SessionWorkspace[];
  readonly current: SessionWorkspace | undefined;
}

/** The workspace one is in: a menu where there are several, words where there is one. */
export function WorkspaceSwitcher({ workspaces, current }: WorkspaceSwitcherProps): ReactElement | null {
  if (!current) return null;
  if (workspaces.length === 1) {
    return (
      <span className={classes.name} title={current.name}>
        {current.name}
      </span>
    );
  }
  return (
    <Menu position="bottom-start" width={260}>
      <Menu.Target>
        <UnstyledButton className={classes.target} aria-label={`Workspace: ${current.name}`}>
          <span className={classes.name}>{current.name}</span>
          <IconSelector size={16} className={classes.icon} />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Workspaces</Menu.Label>
        {workspaces.map((workspace) => (
          <Menu.Item
            key={workspace.id}
            renderRoot={(props) => <Link {...props} to="/w/$slug" params={{ slug: workspace.slug }} />}
            aria-current={workspace.id === current.id || undefined}
            rightSection={workspace.id === current.id && <IconCheck size={16} className={classes.icon} />}
          >
            <span className={classes.entry}>{workspace.name}</span>
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
