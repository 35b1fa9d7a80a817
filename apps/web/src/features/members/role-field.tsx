import { Select, Tooltip, UnstyledButton } from "@mantine/core";
import type { ReactElement } from "react";
import { isRole, roleTitles } from "../../server/roles.ts";
import type { Member, Role } from "../../server/trpc.ts";
import classes from "./role-field.module.css";

interface RoleFieldProps {
  readonly member: Member;
  /** The roles to choose from. Empty if the user can't change this role. */
  readonly choices: readonly Role[];
  /** Why the role can't be changed, although the user can change other roles. */
  readonly blockedReason: string | undefined;
  /** Called with a role other than the current one. */
  readonly onChoose: (role: Role) => void;
}

/**
 * The role of a member. Choosing a role opens a confirmation, so the field keeps showing the
 * current role.
 */
export function RoleField({ member, choices, blockedReason, onChoose }: RoleFieldProps): ReactElement {
  if (choices.length === 0) return <span className={classes.fixed}>{roleTitles[member.role]}</span>;
  if (blockedReason !== undefined) {
    return (
      <Tooltip label={blockedReason}>
        <UnstyledButton
          className={classes.blocked}
          aria-label={`Role of ${member.name}: ${roleTitles[member.role]}`}
          aria-description={blockedReason}
          aria-disabled
        >
          {roleTitles[member.role]}
        </UnstyledButton>
      </Tooltip>
    );
  }
  return (
    <Select
      className={classes.field}
      aria-label={`Role of ${member.name}`}
      allowDeselect={false}
      data={choices.map((role) => ({ value: role, label: roleTitles[role] }))}
      value={member.role}
      onChange={(role) => isRole(role) && role !== member.role && onChoose(role)}
    />
  );
}
