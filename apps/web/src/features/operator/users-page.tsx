import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useCallback, useState } from "react";
import type { UserOverview } from "../../server/trpc.ts";
import { BulkBar } from "../../ui/bulk-bar.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { useTableNavigation } from "../../ui/use-table-navigation.ts";
import { OperatorTable } from "./operator-table.tsx";
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
  const table = useTableNavigation<UsersSearch>({ navigate: route.useNavigate() });
  const ownId = appRoute.useRouteContext().session.user.id;
  const blockedReason = useCallback(
    ({ id }: UserOverview) => (id === ownId ? "This is your account. Use Manage to change it." : undefined),
    [ownId],
  );
  const [choice, setChoice] = useState<UserChoice>();
  const actions = useCallback(
    (user: UserOverview) => <UserActions user={user} onChoose={(action) => setChoice({ user, action })} />,
    [],
  );
  return (
    <>
      <OperatorTable
        title="Users"
        explanation="All accounts on this instance."
        placeholder="Name, email address or ID"
        coverage="names, email addresses and complete user IDs"
        query={useUsers(search)}
        nouns={bulkUsers.nouns}
        columns={userColumns}
        search={search}
        navigation={table}
        defaultSort={defaultUserSort}
        filters={
          <FilterSelect
            label="Role"
            anyLabel="Any role"
            options={{ operator: "Operators only" }}
            value={search.role}
            onChoose={(role) => table.change({ role })}
          />
        }
        actions={actions}
        actionsWidth={124}
        selection={{
          nameOf: bulkUsers.nameOf,
          blockedReason,
          bar: (items, onSelect) => (
            <BulkBar {...bulkUsers} items={items} actions={userBulkActions} onSelect={onSelect} />
          ),
        }}
      />
      <LazyDialog source={userDialog} props={{ choice, onClose: () => setChoice(undefined) }} />
    </>
  );
}
