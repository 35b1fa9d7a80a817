import { Button, Menu } from "@mantine/core";
import { IconChevronDown } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { OperatedUser } from "../../server/trpc.ts";

/** What an operator can do with a user. */
export type UserAction = "disable" | "enable" | "end-sessions" | "reset-link" | "grant" | "revoke";

interface UserActionsProps {
  readonly user: OperatedUser;
  readonly onChoose: (action: UserAction) => void;
}

/** The menu of the actions on a user. Each of them is confirmed in a dialog. */
export function UserActions({ user, onChoose }: UserActionsProps): ReactElement {
  const { isDisabled, isOperator, isOnlyOperator } = user;
  return (
    <Menu position="bottom-end" width={220}>
      <Menu.Target>
        <Button
          variant="subtle"
          color="gray"
          aria-label={`Manage ${user.name}`}
          rightSection={<IconChevronDown size={14} />}
        >
          Manage
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => onChoose("reset-link")}>Create a reset link</Menu.Item>
        {!isDisabled && <Menu.Item onClick={() => onChoose("end-sessions")}>End all sessions</Menu.Item>}
        {isOperator ? (
          <Menu.Item disabled={isOnlyOperator} onClick={() => onChoose("revoke")}>
            Revoke the operator role
          </Menu.Item>
        ) : (
          !isDisabled && <Menu.Item onClick={() => onChoose("grant")}>Make an operator</Menu.Item>
        )}
        <Menu.Item
          renderRoot={(props) => <Link {...props} to="/operator/log" search={{ target: user.id }} />}
        >
          Show in the instance log
        </Menu.Item>
        {isDisabled ? (
          <Menu.Item onClick={() => onChoose("enable")}>Enable</Menu.Item>
        ) : (
          <Menu.Item disabled={isOnlyOperator} onClick={() => onChoose("disable")}>
            Disable
          </Menu.Item>
        )}
        {isOnlyOperator && (
          <Menu.Label>No other operator can sign in. Make another user an operator first.</Menu.Label>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
