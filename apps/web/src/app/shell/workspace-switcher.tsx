import { Menu, UnstyledButton } from "@mantine/core";
import { IconCheck, IconPlus, IconSelector } from "@tabler/icons-react";
import { Link, useMatches } from "@tanstack/react-router";
import { type ReactElement, useRef } from "react";
import type { SessionWorkspace } from "../../server/trpc.ts";
import { Tag } from "../../ui/tag.tsx";
import { useWorkspacePages } from "./use-workspace-pages.ts";
import classes from "./workspace-switcher.module.css";

interface WorkspaceSwitcherProps {
  readonly workspaces: readonly SessionWorkspace[];
  readonly current: SessionWorkspace | undefined;
  readonly onNewWorkspace: () => void;
}

/** Shows the current workspace, and switches to another one or creates one. */
export function WorkspaceSwitcher(props: WorkspaceSwitcherProps): ReactElement {
  const { workspaces, current, onNewWorkspace } = props;
  const findLink = useSamePage();
  const name = current?.name ?? "No workspace";
  const target = useRef<HTMLButtonElement>(null);
  const openNewWorkspace = () => {
    // The dialog returns the focus to the element that had it, and the menu is removed.
    target.current?.focus();
    onNewWorkspace();
  };
  return (
    <Menu position="bottom-start" width={260}>
      <Menu.Target>
        <UnstyledButton
          ref={target}
          className={classes.target}
          aria-label={`Workspace: ${name}`}
          title={name}
        >
          <span className={classes.name}>{name}</span>
          <IconSelector size={16} className={classes.icon} />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        {workspaces.length > 0 && (
          <>
            <Menu.Label>Workspaces</Menu.Label>
            <div className={classes.list}>
              {workspaces.map((workspace) => (
                <Menu.Item
                  key={workspace.id}
                  classNames={{ itemLabel: classes.label ?? "" }}
                  renderRoot={(props) => <Link {...props} {...findLink(workspace)} />}
                  aria-current={workspace.id === current?.id || undefined}
                  rightSection={
                    workspace.id === current?.id && <IconCheck size={16} className={classes.icon} />
                  }
                >
                  <bdi className={classes.entry} title={workspace.name}>
                    {workspace.name}
                  </bdi>
                  {workspace.isDisabled && <Tag>Disabled</Tag>}
                </Menu.Item>
              ))}
            </div>
            <Menu.Divider />
          </>
        )}
        <Menu.Item leftSection={<IconPlus size={16} />} onClick={openNewWorkspace}>
          New workspace
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/**
 * Returns a function that links to the current page in another workspace, or to its overview if it
 * has no such page.
 */
function useSamePage() {
  const pagesOf = useWorkspacePages();
  const currentPath = useMatches({ select: (matches) => matches.at(-1)?.fullPath.replace(/\/$/, "") });
  return (workspace: SessionWorkspace) => {
    const page = pagesOf(workspace).find(({ link }) => link.to === currentPath);
    return page?.link ?? ({ to: "/w/$slug", params: { slug: workspace.slug } } as const);
  };
}
