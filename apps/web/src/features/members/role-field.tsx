import { Loader, Select } from "@mantine/core";
import type { ReactElement } from "react";
import { isRole, roleTitles } from "../../server/roles.ts";
import classes from "./role-field.module.css";
import type { MemberRow } from "./use-member-row.ts";

/** The role of a member: to choose where the person may, else to read. */
export function RoleField({ member, choices, change, onRole }: MemberRow): ReactElement {
  if (choices.length === 0) return <span className={classes.fixed}>{roleTitles[member.role]}</span>;
  return (
    <Select
      className={classes.field}
      aria-label={`Role of ${member.name}`}
      aria-busy={change.isPending}
      data={choices.map((role) => ({ value: role, label: roleTitles[role] }))}
      value={change.isPending ? change.variables : member.role}
      onChange={(role) => isRole(role) && onRole(role)}
      {...(change.isPending && { rightSection: <Loader size={14} /> })}
    />
  );
}
