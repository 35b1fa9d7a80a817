import { ActionIcon, Menu } from "@mantine/core";
import { IconDots } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { type ReactElement, useRef } from "react";
import type { WorkspaceOverview } from "../../server/trpc.ts";
import removalClasses from "../../ui/removal.module.css";

interface WorkspaceActionsProps {
  readonly workspace: WorkspaceOverview;
  /** Disables or enables the workspace, after a confirmation. */
  readonly onChange: (workspace: WorkspaceOverview) => void;
}

/** The menu of what an operator can do with a workspace. */
export function WorkspaceActions({ workspace, onChange }: WorkspaceActionsProps): ReactElement {
  const { id, name, isDisabled } = workspace;
  const button = useRef<HTMLButtonElement>(null);
  const change = () => {
    // When the dialog closes, it returns the focus to the element that had it. A menu item no longer exists then.
    button.current?.focus();
    onChange(workspace);
  };
  return (
    <Menu position="bottom-end" width={220}>
      <Menu.Target>
        <ActionIcon ref={button} variant="subtle" color="gray" aria-label={`Manage ${name}`} title="Manage">
          <IconDots size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item renderRoot={(props) => <Link {...props} to="/operator/log" search={{ target: id }} />}>
          Show in the instance log
        </Menu.Item>
        {isDisabled ? (
          <Menu.Item onClick={change}>Enable</Menu.Item>
        ) : (
          <Menu.Item className={removalClasses.action} onClick={change}>
            Disable
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
