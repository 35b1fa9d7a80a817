import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus } from "@tabler/icons-react";
import { infiniteQueryOptions, useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type ReactElement, useMemo } from "react";
import { describeFailure } from "../../../server/failure.ts";
import { roleTitles } from "../../../server/roles.ts";
import { type Member, type Role, trpc, trpcClient } from "../../../server/trpc.ts";
import { useLoadingFailure } from "../../../server/use-loading-failure.ts";
import { useSessionChanges } from "../../../server/use-session-changes.ts";
import { useWorkspaceAccess } from "../../../server/use-workspace-access.ts";
import { countOf, formatCount } from "../../../ui/count.ts";
import { type DataColumn, DataTable } from "../../../ui/data-table.tsx";
import emptyClasses from "../../../ui/empty.module.css";
import { FailurePanel } from "../../../ui/failure-panel.tsx";
import { LazyDialog } from "../../../ui/lazy-dialog.tsx";
import { LostAccess } from "../../../ui/lost-access.tsx";
import { PageHeader } from "../../../ui/page-header.tsx";
import { RelativeTime } from "../../../ui/relative-time.tsx";
import { ShowMore } from "../../../ui/show-more.tsx";
import { Tag } from "../../../ui/tag.tsx";
import classes from "../api-key-columns.module.css";

const route = getRouteApi("/app/w/$slug/members/service-accounts");
const newDialog = {
  load: () => import("./service-account-dialog.tsx").then((module) => module.ServiceAccountDialog),
  closed: { isOpen: false },
};
const noRoles: readonly Role[] = [];
const pageSize = 50;

/** The members of a workspace that aren't people. */
export function ServiceAccountsPage(): ReactElement {
  const { workspace } = route.useRouteContext();
  const navigate = route.useNavigate();
  const access = useWorkspaceAccess(workspace);
  const sessionChanges = useSessionChanges();
  const accounts = useInfiniteQuery(serviceAccountsQuery(workspace.id));
  const failure = useLoadingFailure(accounts);
  const [isNewOpen, newAccount] = useDisclosure(false);
  const columns = useMemo(() => createColumns(workspace.slug), [workspace.slug]);
  if (access.isLost) {
    return <LostAccess name={workspace.name} onLeave={() => void sessionChanges.remove(workspace.id)} />;
  }
  const pages = accounts.data?.pages;
  const { grantableRoles = noRoles, total } = pages?.at(-1) ?? {};
  const shown = pages?.flatMap(({ items }) => items);
  const canManage = access.can("members:manage");
  const newButton = canManage && (
    <Button leftSection={<IconPlus size={16} />} onClick={newAccount.open} flex="none">
      New service account
    </Button>
  );
  return (
    <>
      <PageHeader
        title="Service accounts"
        explanation="Members that aren’t people. Their API keys keep working when the person who set them up leaves."
        parent={
          <Link to="/w/$slug/members" params={{ slug: workspace.slug }}>
            Members
          </Link>
        }
        action={newButton}
      />
      {failure ? (
        <FailurePanel
          title="Couldn’t load service accounts"
          message={failure.message}
          requestId={failure.requestId}
          isRetrying={accounts.isFetching}
          onRetry={() => void accounts.refetch()}
        />
      ) : total === 0 ? (
        <section className={emptyClasses.panel}>
          <h2 className={emptyClasses.title}>No service accounts yet</h2>
          <p className={emptyClasses.words}>
            Create one for each integration, such as a deploy pipeline. Give it a role and API keys that every
            admin can manage.
          </p>
        </section>
      ) : (
        <>
          <DataTable
            label="Service accounts"
            columns={columns}
            items={shown}
            isStale={false}
            idOf={({ userId }) => userId}
            chosen={undefined}
            onOpen={({ userId }) =>
              void navigate({
                to: "/w/$slug/members/service-accounts/$userId",
                params: { slug: workspace.slug, userId },
              })
            }
          />
          {shown && total !== undefined && (accounts.hasNextPage || shown.length > pageSize) && (
            <ShowMore
              hasMore={accounts.hasNextPage}
              isLoading={accounts.isFetchingNextPage}
              failure={
                accounts.isFetchNextPageError
                  ? `Couldn’t load more. ${describeFailure(accounts.error).message}`
                  : undefined
              }
              onShowMore={() => void accounts.fetchNextPage()}
            >
              {formatCount(shown.length)} of {countOf(total, "service account", "service accounts")}
            </ShowMore>
          )}
        </>
      )}
      <LazyDialog
        source={newDialog}
        props={{
          workspace,
          grantableRoles,
          isOpen: isNewOpen,
          onClose: newAccount.close,
          onSaved: ({ userId }) =>
            void navigate({
              to: "/w/$slug/members/service-accounts/$userId",
              params: { slug: workspace.slug, userId },
            }),
        }}
      />
    </>
  );
}

/** The paginated query for the service accounts of a workspace. */
export function serviceAccountsQuery(workspaceId: string) {
  const input = { workspaceId, kind: "service_account" } as const;
  return infiniteQueryOptions({
    queryKey: trpc.members.list.infiniteQueryKey(input),
    queryFn: ({ pageParam: cursor }) =>
      trpcClient.members.list.query({ ...input, ...(cursor !== null && { cursor }) }),
    initialPageParam: null as string | null, // The first page has no cursor.
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}

function createColumns(slug: string): readonly [DataColumn<Member>, ...DataColumn<Member>[]] {
  return [
    {
      id: "name",
      label: "Name",
      minWidth: 200,
      grow: 2,
      rank: 0,
      cell: ({ userId, name, isDisabled }) => (
        <>
          <Link
            className={classes.name}
            title={name}
            to="/w/$slug/members/service-accounts/$userId"
            params={{ slug, userId }}
          >
            {name}
          </Link>{" "}
          {isDisabled && <Tag>Disabled</Tag>}
        </>
      ),
    },
    { id: "role", label: "Role", minWidth: 96, rank: 1, cell: ({ role }) => roleTitles[role] },
    {
      id: "createdAt",
      label: "Created",
      isTime: true,
      minWidth: 116,
      grow: 0,
      rank: 2,
      cell: ({ joinedAt }) => <RelativeTime at={joinedAt} />,
    },
  ];
}
