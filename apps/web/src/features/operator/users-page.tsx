import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useCallback, useState } from "react";
import type { UserOverview } from "../../server/trpc.ts";
import { useGrowingList } from "../../server/use-growing-list.ts";
import { BulkBar } from "../../ui/bulk-bar.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { GrowingTable } from "../../ui/growing-table.tsx";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { NoMatch } from "../../ui/no-match.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { useTableNavigation } from "../../ui/use-table-navigation.ts";
import { statusTitles } from "./status-filter.ts";
import { useUsers } from "./use-users.ts";
import { UserActions } from "./user-actions.tsx";
import { bulkUsers, userBulkActions } from "./user-bulk-actions.ts";
import { userColumns } from "./user-columns.tsx";
import type { UserChoice } from "./user-dialog.tsx";
import { defaultUserSort, type UsersSearch } from "./users-search.ts";

const appRoute = getRouteApi("/app");
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
  const table = useTableNavigation<UsersSearch>({ navigate });
  const ownId = appRoute.useRouteContext().session.user.id;
  const blockedReason = useCallback(
    ({ id }: UserOverview) => (id === ownId ? "This is your account. Use Manage to change it." : undefined),
    [ownId],
  );
  const [choice, setChoice] = useState<UserChoice>();
  const actions = useCallback(
    (user: UserOverview) => (
      <UserActions user={user} onChoose={(action) => setChoice({ user, action, isOwn: user.id === ownId })} />
    ),
    [ownId],
  );
  return (
    <>
      <PageHeader title="Users" explanation="All accounts on this instance." />
      <GrowingTable
        label="Users"
        searchField={{ label: "Search users", placeholder: "Name, email address or ID" }}
        filters={
          <>
            <FilterSelect
              label="Status"
              anyLabel="Any status"
              options={statusTitles}
              value={search.status}
              onChoose={(status) => table.change({ status })}
            />
            <FilterSelect
              label="Role"
              anyLabel="Any role"
              options={{ operator: "Operators only" }}
              value={search.role}
              onChoose={(role) => table.change({ role })}
            />
          </>
        }
        list={list}
        nouns={bulkUsers.nouns}
        total={users.data?.pages.at(-1)?.total ?? 0}
        isFiltered={search.q !== undefined || search.status !== undefined || search.role !== undefined}
        failureTitle="Couldn’t load users"
        columns={userColumns}
        idOf={idOf}
        search={search}
        navigation={table}
        defaultSort={defaultUserSort}
        actions={actions}
        actionsWidth={124}
        selection={{
          nameOf: bulkUsers.nameOf,
          blockedReason,
          bar: (items, onSelect) => (
            <BulkBar {...bulkUsers} items={items} actions={userBulkActions} onSelect={onSelect} />
          ),
        }}
        empty={
          <NoMatch
            noun="user"
            search={search.q}
            hasFilters={search.status !== undefined || search.role !== undefined}
            onClear={() => table.change({ q: undefined, status: undefined, role: undefined })}
          >
            Search covers names, email addresses and complete user IDs.
          </NoMatch>
        }
      />
      <LazyDialog source={userDialog} props={{ choice, onClose: () => setChoice(undefined) }} />
    </>
  );
}

function idOf({ id }: UserOverview): string {
  return id;
}
