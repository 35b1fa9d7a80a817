import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus } from "@tabler/icons-react";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type ReactElement, useCallback, useMemo } from "react";
import type { Member, Role } from "../../../server/trpc.ts";
import { useGrowingList } from "../../../server/use-growing-list.ts";
import { useSessionChanges } from "../../../server/use-session-changes.ts";
import { useWorkspaceAccess } from "../../../server/use-workspace-access.ts";
import { BulkBar } from "../../../ui/bulk-bar.tsx";
import { EmptyPanel } from "../../../ui/empty-panel.tsx";
import { GrowingTable } from "../../../ui/growing-table.tsx";
import { LazyDialog } from "../../../ui/lazy-dialog.tsx";
import { LostAccess } from "../../../ui/lost-access.tsx";
import { NoMatch } from "../../../ui/no-match.tsx";
import { PageHeader } from "../../../ui/page-header.tsx";
import { useStable } from "../../../ui/use-stable.ts";
import { useTableNavigation } from "../../../ui/use-table-navigation.ts";
import { bulkServiceAccounts, serviceAccountActions } from "./service-account-bulk-actions.ts";
import { serviceAccountColumns } from "./service-account-columns.tsx";
import { defaultServiceAccountSort, type ServiceAccountsSearch } from "./service-accounts-search.ts";
import { useServiceAccounts } from "./use-service-accounts.ts";

const route = getRouteApi("/app/w/$slug/members/service-accounts");
const newDialog = {
  load: () => import("./service-account-dialog.tsx").then((module) => module.ServiceAccountDialog),
  closed: { isOpen: false },
};
const noRoles: readonly Role[] = [];

/** The service accounts of a workspace. */
export function ServiceAccountsPage(): ReactElement {
  const { workspace } = route.useRouteContext();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const access = useWorkspaceAccess(workspace);
  const sessionChanges = useSessionChanges();
  const accounts = useServiceAccounts(workspace.id, search);
  const list = useGrowingList(accounts);
  const table = useTableNavigation<ServiceAccountsSearch>({ navigate });
  const [isNewOpen, newAccount] = useDisclosure(false);
  const columns = useMemo(() => serviceAccountColumns(workspace.slug), [workspace.slug]);
  const { grantableRoles = noRoles, total = 0 } = accounts.data?.pages.at(-1) ?? {};
  const roles = useStable(grantableRoles);
  const blockedReason = useCallback(
    ({ role }: Member) => (roles.includes(role) ? undefined : `Your role can’t manage ${role}s.`),
    [roles],
  );
  if (access.isLost) {
    return <LostAccess name={workspace.name} onLeave={() => void sessionChanges.remove(workspace.id)} />;
  }
  const isFiltered = search.q !== undefined;
  const openAccount = (userId: string) =>
    void navigate({
      to: "/w/$slug/members/service-accounts/$userId",
      params: { slug: workspace.slug, userId },
    });
  return (
    <>
      <PageHeader
        title="Service accounts"
        explanation="Accounts for integrations, such as a deploy pipeline. Their API keys keep working when the person who set them up leaves."
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
      <GrowingTable<Member>
        label="Service accounts"
        searchField={{ label: "Search service accounts", placeholder: "Search by name" }}
        list={list}
        nouns={bulkServiceAccounts.nouns}
        total={total}
        isFiltered={isFiltered}
        failureTitle="Couldn’t load service accounts"
        columns={columns}
        idOf={idOf}
        search={search}
        navigation={table}
        defaultSort={defaultServiceAccountSort}
        selection={
          access.can("members:manage") && {
            nameOf: bulkServiceAccounts.nameOf,
            blockedReason,
            bar: (items, onSelect) => (
              <BulkBar
                {...bulkServiceAccounts}
                items={items}
                actions={serviceAccountActions(workspace.id)}
                onSelect={onSelect}
              />
            ),
          }
        }
        onOpen={({ userId }) => openAccount(userId)}
        empty={
          isFiltered ? (
            <NoMatch noun="service account" search={search.q} onClear={() => table.change({ q: undefined })}>
              Search covers the names of service accounts.
            </NoMatch>
          ) : (
            <NoServiceAccounts onCreate={access.can("members:manage") ? newAccount.open : undefined} />
          )
        }
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

interface NoServiceAccountsProps {
  /** Undefined without the permission. */
  readonly onCreate: (() => void) | undefined;
}

function NoServiceAccounts({ onCreate }: NoServiceAccountsProps): ReactElement {
  return (
    <EmptyPanel
      title="No service accounts yet"
      action={
        onCreate && (
          <Button leftSection={<IconPlus size={16} />} onClick={onCreate}>
            Create your first service account
          </Button>
        )
      }
    >
      {onCreate
        ? "Create one for each integration, such as a deploy pipeline. Give it a role and API keys that every admin can manage."
        : "Service accounts appear here when an owner or admin creates one."}
    </EmptyPanel>
  );
}
