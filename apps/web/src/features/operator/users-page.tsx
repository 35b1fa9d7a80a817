import { maxLength } from "@latchkey/limits";
import { Button } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useCallback, useState } from "react";
import type { OperatedUser } from "../../server/trpc.ts";
import { useGrowingList } from "../../server/use-growing-list.ts";
import { countOf, formatCount } from "../../ui/count.ts";
import emptyClasses from "../../ui/empty.module.css";
import { GrowingTable } from "../../ui/growing-table.tsx";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { listPageSize } from "../../ui/table-search.ts";
import { TableToolbar } from "../../ui/table-toolbar.tsx";
import { useTableNavigation } from "../../ui/use-table-navigation.ts";
import { useUsers } from "./use-users.ts";
import { UserActions } from "./user-actions.tsx";
import { userColumns } from "./user-columns.tsx";
import type { UserChoice } from "./user-dialog.tsx";
import { defaultUserSort, type UsersSearch } from "./users-search.ts";

const route = getRouteApi("/app/operator/users");
const userDialog = {
  load: () => import("./user-dialog.tsx").then((module) => module.UserDialog),
  closed: { choice: undefined },
};

/** The users of the instance, for operators. */
export function UsersPage(): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const users = useUsers(search);
  const list = useGrowingList(users);
  const table = useTableNavigation<UsersSearch>({ navigate, page: 1, size: listPageSize, total: undefined });
  const [choice, setChoice] = useState<UserChoice>();
  const actions = useCallback(
    (user: OperatedUser) => <UserActions user={user} onChoose={(action) => setChoice({ user, action })} />,
    [],
  );
  const total = users.data?.pages.at(-1)?.total ?? 0;
  return (
    <>
      <PageHeader title="Users" explanation="All accounts on this instance." />
      <TableToolbar
        results={list.isStale ? "Loading…" : list.items && !list.failure && countOf(total, "user", "users")}
        columns={userColumns}
        search={search}
        onChooseColumns={table.chooseColumns}
      >
        <SearchField
          label="Search users"
          placeholder="Search by name, email address or ID"
          maxLength={maxLength.search}
          search={search.q ?? ""}
          onSearch={(text) => table.change({ q: text.trim() === "" ? undefined : text })}
        />
      </TableToolbar>
      <GrowingTable
        label="Users"
        list={list}
        failureTitle="Couldn’t load users"
        columns={userColumns}
        idOf={idOf}
        search={search}
        navigation={table}
        defaultSort={defaultUserSort}
        actions={actions}
        actionsWidth={124}
        count={`${formatCount(list.items?.length ?? 0)} of ${countOf(total, "user", "users")}`}
        empty={
          <section className={emptyClasses.panel}>
            <h2 className={emptyClasses.title}>No user matches</h2>
            <p className={emptyClasses.words}>Search covers names, email addresses and complete user IDs.</p>
            <Button variant="default" onClick={() => table.change({ q: undefined })}>
              Show all users
            </Button>
          </section>
        }
      />
      <LazyDialog source={userDialog} props={{ choice, onClose: () => setChoice(undefined) }} />
    </>
  );
}

function idOf({ id }: OperatedUser): string {
  return id;
}
