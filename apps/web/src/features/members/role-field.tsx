import { Select, Tooltip } from "@mantine/core";
import type { ReactElement } from "react";
import { isRole, roleTitles } from "../../server/roles.ts";
import type { Member, Role } from "../../server/trpc.ts";
import classes from "./role-field.module.css";

interface RoleFieldProps {
  readonly member: Member;
  /** The roles to choose from; none if the user may not change this one. */
  readonly choices: readonly Role[];
  /** Why the role can't be changed, although the user may change roles. */
  readonly blocked: string | undefined;
  /** Gets another role than the current one. */
  readonly onChoose: (role: Role) => void;
}

/** The role of a member. A choice only asks for a confirmation, so the field keeps the current role. */
export function RoleField({ member, choices, blocked, onChoose }: RoleFieldProps): ReactElement {
  if (choices.length === 0) return <span className={classes.fixed}>{roleTitles[member.role]}</span>;
  if (blocked !== undefined) {
    return (
      <Tooltip label={blocked}>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the reason is reachable by keyboard */}
        <span className={classes.fixed} tabIndex={0}>
          {roleTitles[member.role]}
          <span className="visually-hidden"> ({blocked})</span>
        </span>
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
