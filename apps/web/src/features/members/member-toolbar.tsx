import { maxLength } from "@latchkey/limits";
import { Select } from "@mantine/core";
import type { ReactElement } from "react";
import { isRole, roles, roleTitles } from "../../server/roles.ts";
import { SearchField } from "../../ui/search-field.tsx";
import type { ColumnLayout } from "../../ui/table-layout.ts";
import { TableToolbar } from "../../ui/table-toolbar.tsx";
import classes from "../../ui/toolbar.module.css";
import type { TableNavigation } from "../../ui/use-table-navigation.ts";
import type { MembersSearch } from "./members-search.ts";

interface MemberToolbarProps {
  readonly search: MembersSearch;
  readonly columns: readonly (ColumnLayout & { readonly label: string })[];
  /** The number of results, as text. */
  readonly results: string;
  readonly navigation: TableNavigation<MembersSearch>;
}

const anyRole = { value: "any", label: "Any role" };

export function MemberToolbar({ search, columns, results, navigation }: MemberToolbarProps): ReactElement {
  return (
    <TableToolbar
      results={results}
      columns={columns}
      search={search}
      onChooseColumns={navigation.chooseColumns}
    >
      <SearchField
        label="Search members"
        placeholder="Search by name or email address"
        maxLength={maxLength.search}
        search={search.q ?? ""}
        onSearch={(text) => navigation.change({ q: text.trim() === "" ? undefined : text })}
      />
      <Select
        className={classes.filter}
        aria-label="Role"
        data={[anyRole, ...roles.map((value) => ({ value, label: roleTitles[value] }))]}
        value={search.role ?? anyRole.value}
        onChange={(value) => navigation.change({ role: isRole(value) ? value : undefined })}
      />
    </TableToolbar>
  );
}
