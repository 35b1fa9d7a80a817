import { maxLength } from "@latchkey/limits";
import { Button } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useCallback, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import type { OperatedUser } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { countOf, formatCount } from "../../ui/count.ts";
import { DataTable } from "../../ui/data-table.tsx";
import emptyClasses from "../../ui/empty.module.css";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { ShowMore } from "../../ui/show-more.tsx";
import classes from "../../ui/toolbar.module.css";
import { useUsers } from "./use-users.ts";
import { UserActions } from "./user-actions.tsx";
import { userColumns } from "./user-columns.tsx";
import type { UserChoice } from "./user-dialog.tsx";
import { defaultSort, isUserSort, type UsersSearch } from "./users-search.ts";

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
  const failure = useLoadingFailure(users);
  const [choice, setChoice] = useState<UserChoice>();
  const actions = useCallback(
    (user: OperatedUser) => <UserActions user={user} onChoose={(action) => setChoice({ user, action })} />,
    [],
  );
  const change = (next: { readonly [Name in keyof UsersSearch]?: UsersSearch[Name] | undefined }) =>
    void navigate({ search: (before) => ({ ...before, ...next }) as UsersSearch, replace: true });
  const { q = "", sort = defaultSort } = search;
  const shown = users.data?.pages.flatMap(({ items }) => items);
  const total = users.data?.pages.at(-1)?.total;
  return (
    <>
      <PageHeader title="Users" explanation="Everybody who has an account on this instance." />
      <div className={classes.toolbar}>
        <div className={classes.filters}>
          <SearchField
            label="Search users"
            placeholder="Search name, email address or ID"
            maxLength={maxLength.search}
            search={q}
            onSearch={(text) => change({ q: text.trim() === "" ? undefined : text })}
          />
        </div>
        <div className={classes.results}>
          <span role="status" className={classes.count}>
            {users.isPlaceholderData
              ? "Loading…"
              : !failure && total !== undefined && countOf(total, "user", "users")}
          </span>
        </div>
      </div>
      {failure ? (
        <FailurePanel
          title="Couldn’t load users"
          message={failure.message}
          requestId={failure.requestId}
          isRetrying={users.isFetching}
          onRetry={() => void users.refetch()}
        />
      ) : total === 0 ? (
        <section className={emptyClasses.panel}>
          <h2 className={emptyClasses.title}>No user matches</h2>
          <p className={emptyClasses.words}>Search covers names, email addresses and complete user IDs.</p>
          <Button variant="default" onClick={() => change({ q: undefined })}>
            Show all users
          </Button>
        </section>
      ) : (
        <>
          <DataTable
            label="Users"
            columns={userColumns}
            items={shown}
            isStale={users.isPlaceholderData}
            idOf={idOf}
            chosen={undefined}
            sort={sort}
            onSort={(next) => change({ sort: isUserSort(next) && next !== defaultSort ? next : undefined })}
            actions={actions}
            actionsWidth={124}
          />
          {shown && total !== undefined && (users.hasNextPage || shown.length > 50) && (
            <ShowMore
              hasMore={users.hasNextPage}
              isLoading={users.isFetchingNextPage}
              failure={
                users.isFetchNextPageError
                  ? `Couldn’t load more. ${describeFailure(users.error).message}`
                  : undefined
              }
              onShowMore={() => void users.fetchNextPage()}
            >
              {formatCount(shown.length)} of {countOf(total, "user", "users")}
            </ShowMore>
          )}
        </>
      )}
      <LazyDialog source={userDialog} props={{ choice, onClose: () => setChoice(undefined) }} />
    </>
  );
}

function idOf({ id }: OperatedUser): string {
  return id;
}
