import { Button, Menu } from "@mantine/core";
import { IconChevronDown } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { type ReactElement, useId, useRef } from "react";
import type { UserOverview } from "../../server/trpc.ts";
import removalClasses from "../../ui/removal.module.css";

/** What an operator can do with a user. */
export type UserAction = "disable" | "enable" | "end-sessions" | "reset-link" | "grant" | "revoke";

const onlyOperatorReason = "No other operator can sign in. Make another user an operator first.";

interface UserActionsProps {
  readonly user: UserOverview;
  readonly onChoose: (action: UserAction) => void;
}

/** The menu of the actions on a user. Each of them is confirmed in a dialog. */
export function UserActions({ user, onChoose }: UserActionsProps): ReactElement {
  const { isDisabled, isOperator, isOnlyOperator } = user;
  const reasonId = useId();
  // Not `disabled`: the arrow keys skip disabled items, so screen readers wouldn't read the reason.
  const blocked = isOnlyOperator && {
    "aria-disabled": true,
    "aria-describedby": reasonId,
    closeMenuOnClick: false,
  };
  const button = useRef<HTMLButtonElement>(null);
  const choose = (action: UserAction) => {
    // The dialog returns the focus to the element that had it, and the menu is removed.
    button.current?.focus();
    onChoose(action);
  };
  return (
    <Menu position="bottom-end" width={220}>
      <Menu.Target>
        <Button
          ref={button}
          variant="subtle"
          color="gray"
          aria-label={`Manage ${user.name}`}
          rightSection={<IconChevronDown size={14} />}
        >
          Manage
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => choose("reset-link")}>Create a reset link</Menu.Item>
        {!isDisabled && (
          <Menu.Item className={removalClasses.action} onClick={() => choose("end-sessions")}>
            End all sessions
          </Menu.Item>
        )}
        {isOperator ? (
          <Menu.Item
            className={removalClasses.action}
            {...blocked}
            onClick={() => !isOnlyOperator && choose("revoke")}
          >
            Revoke the operator role
          </Menu.Item>
        ) : (
          !isDisabled && <Menu.Item onClick={() => choose("grant")}>Make an operator</Menu.Item>
        )}
        <Menu.Item
          renderRoot={(props) => <Link {...props} to="/operator/log" search={{ target: user.id }} />}
        >
          Show in the instance log
        </Menu.Item>
        {isDisabled ? (
          <Menu.Item onClick={() => choose("enable")}>Enable</Menu.Item>
        ) : (
          <Menu.Item
            className={removalClasses.action}
            {...blocked}
            onClick={() => !isOnlyOperator && choose("disable")}
          >
            Disable
          </Menu.Item>
        )}
        {isOnlyOperator && <Menu.Label id={reasonId}>{onlyOperatorReason}</Menu.Label>}
      </Menu.Dropdown>
    </Menu>
  );
}
