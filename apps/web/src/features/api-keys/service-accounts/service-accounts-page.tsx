import { maxLength } from "@latchkey/limits";
import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus } from "@tabler/icons-react";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type ReactElement, useMemo } from "react";
import type { Member, Role } from "../../../server/trpc.ts";
import { useGrowingList } from "../../../server/use-growing-list.ts";
import { useSessionChanges } from "../../../server/use-session-changes.ts";
import { useWorkspaceAccess } from "../../../server/use-workspace-access.ts";
import { countOf, formatCount } from "../../../ui/count.ts";
import emptyClasses from "../../../ui/empty.module.css";
import { GrowingTable } from "../../../ui/growing-table.tsx";
import { LazyDialog } from "../../../ui/lazy-dialog.tsx";
import { LostAccess } from "../../../ui/lost-access.tsx";
import { PageHeader } from "../../../ui/page-header.tsx";
import { SearchField } from "../../../ui/search-field.tsx";
import { listPageSize } from "../../../ui/table-search.ts";
import { TableToolbar } from "../../../ui/table-toolbar.tsx";
import { useTableNavigation } from "../../../ui/use-table-navigation.ts";
import { serviceAccountColumns } from "./service-account-columns.tsx";
import { defaultServiceAccountSort, type ServiceAccountsSearch } from "./service-accounts-search.ts";
import { useServiceAccounts } from "./use-service-accounts.ts";

const route = getRouteApi("/app/w/$slug/members/service-accounts");
const newDialog = {
  load: () => import("./service-account-dialog.tsx").then((module) => module.ServiceAccountDialog),
  closed: { isOpen: false },
};
const noRoles: readonly Role[] = [];

/** The members of a workspace that aren't people. */
export function ServiceAccountsPage(): ReactElement {
  const { workspace } = route.useRouteContext();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const access = useWorkspaceAccess(workspace);
  const sessionChanges = useSessionChanges();
  const accounts = useServiceAccounts(workspace.id, search);
  const list = useGrowingList(accounts);
  const table = useTableNavigation<ServiceAccountsSearch>({
    navigate,
    page: 1,
    size: listPageSize,
    total: undefined,
  });
  const [isNewOpen, newAccount] = useDisclosure(false);
  const columns = useMemo(() => serviceAccountColumns(workspace.slug), [workspace.slug]);
  if (access.isLost) {
    return <LostAccess name={workspace.name} onLeave={() => void sessionChanges.remove(workspace.id)} />;
  }
  const { grantableRoles = noRoles, total = 0 } = accounts.data?.pages.at(-1) ?? {};
  const isFiltered = search.q !== undefined;
  const isEmpty = list.items?.length === 0 && !list.isStale && !isFiltered;
  const openAccount = (userId: string) =>
    void navigate({
      to: "/w/$slug/members/service-accounts/$userId",
      params: { slug: workspace.slug, userId },
    });
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
        action={
          access.can("members:manage") && (
            <Button leftSection={<IconPlus size={16} />} onClick={newAccount.open} flex="none">
              New service account
            </Button>
          )
        }
      />
      {!isEmpty && (
        <TableToolbar
          results={
            list.isStale
              ? "Loading…"
              : list.items && !list.failure && countOf(total, "service account", "service accounts")
          }
          columns={columns}
          search={search}
          onChooseColumns={table.chooseColumns}
        >
          <SearchField
            label="Search service accounts"
            placeholder="Search by name"
            maxLength={maxLength.search}
            search={search.q ?? ""}
            onSearch={(text) => table.change({ q: text.trim() === "" ? undefined : text })}
          />
        </TableToolbar>
      )}
      <GrowingTable
        label="Service accounts"
        list={list}
        failureTitle="Couldn’t load service accounts"
        columns={columns}
        idOf={idOf}
        search={search}
        navigation={table}
        defaultSort={defaultServiceAccountSort}
        onOpen={({ userId }) => openAccount(userId)}
        count={`${formatCount(list.items?.length ?? 0)} of ${countOf(total, "service account", "service accounts")}`}
        empty={<EmptyList isFiltered={isFiltered} onClear={() => table.change({ q: undefined })} />}
      />
      <LazyDialog
        source={newDialog}
        props={{
          workspace,
          grantableRoles,
          isOpen: isNewOpen,
          onClose: newAccount.close,
          onSaved: ({ userId }) => openAccount(userId),
        }}
      />
    </>
  );
}

function idOf({ userId }: Member): string {
  return userId;
}

interface EmptyListProps {
  readonly isFiltered: boolean;
  readonly onClear: () => void;
}

function EmptyList({ isFiltered, onClear }: EmptyListProps): ReactElement {
  return (
    <section className={emptyClasses.panel}>
      <h2 className={emptyClasses.title}>
        {isFiltered ? "No service account matches" : "No service accounts yet"}
      </h2>
      <p className={emptyClasses.words}>
        {isFiltered
          ? "Search covers the names of service accounts."
          : "Create one for each integration, such as a deploy pipeline. Give it a role and API keys that every admin can manage."}
      </p>
      {isFiltered && (
        <Button variant="default" onClick={onClear}>
          Show all service accounts
        </Button>
      )}
    </section>
  );
}
