import { maxLength } from "@latchkey/limits";
import { Select } from "@mantine/core";
import type { ReactElement } from "react";
import { isRole, roles, roleTitles } from "../../server/roles.ts";
import type { Role } from "../../server/trpc.ts";
import { SearchField } from "../../ui/search-field.tsx";
import classes from "../../ui/toolbar.module.css";

interface MemberToolbarProps {
  readonly search: string;
  readonly role: Role | undefined;
  /** The number of results, as text. */
  readonly results: string;
  readonly onSearch: (text: string) => void;
  readonly onRole: (role: Role | undefined) => void;
}

const anyRole = { value: "any", label: "Any role" };

export function MemberToolbar(props: MemberToolbarProps): ReactElement {
  const { search, role, results, onSearch, onRole } = props;
  return (
    <div className={classes.toolbar}>
      <div className={classes.filters}>
        <SearchField
          label="Search members"
          placeholder="Search name or email address"
          maxLength={maxLength.search}
          search={search}
          onSearch={onSearch}
        />
        <Select
          className={classes.filter}
          aria-label="Role"
          data={[anyRole, ...roles.map((value) => ({ value, label: roleTitles[value] }))]}
          value={role ?? anyRole.value}
          onChange={(value) => onRole(isRole(value) ? value : undefined)}
        />
      </div>
      <div className={classes.results}>
        <span role="status" className={classes.count}>
          {results}
        </span>
      </div>
    </div>
  );
}
