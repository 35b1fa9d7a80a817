import { ActionIcon, Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { actionTitles } from "../../server/action-titles.ts";
import { describeActor } from "../../server/describe-actor.ts";
import { describeHolders, withArticle } from "../../server/roles.ts";
import type { AuditEvent, SessionWorkspace } from "../../server/trpc.ts";
import { useGrowingList } from "../../server/use-growing-list.ts";
import { useSessionChanges } from "../../server/use-session-changes.ts";
import { useWorkspaceAccess } from "../../server/use-workspace-access.ts";
import { EmptyPanel } from "../../ui/empty-panel.tsx";
import { GrowingTable } from "../../ui/growing-table.tsx";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { isLogFiltered, withoutFilter } from "../../ui/log-filter.ts";
import { LogFilters } from "../../ui/log-filters.tsx";
import { LostAccess } from "../../ui/lost-access.tsx";
import { NoMatch } from "../../ui/no-match.tsx";
import { nameOwner } from "../../ui/owner-name.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { defaultLogSort } from "../../ui/table-search.ts";
import { useFilterReset } from "../../ui/use-filter-reset.ts";
import { useTableNavigation } from "../../ui/use-table-navigation.ts";
import { auditLogColumns } from "./audit-log-columns.tsx";
import { type AuditLogSearch, isTarget } from "./audit-log-search.ts";
import { PersonFilter } from "./person-filter.tsx";
import { useAuditLog } from "./use-audit-log.ts";

const route = getRouteApi("/app/w/$slug/audit");

export function AuditLogPage(): ReactElement {
  const { workspace } = route.useRouteContext();
  const access = useWorkspaceAccess(workspace);
  const sessionChanges = useSessionChanges();
  if (access.isLost) {
    return <LostAccess name={workspace.name} onLeave={() => void sessionChanges.remove(workspace.id)} />;
  }
  const isAllowed = access.can("audit:read");
  return (
    <>
      <PageHeader
        title="Audit log"
        explanation="Changes to this workspace, its members and the API keys that can reach it. Events can’t be changed, and are deleted only when their retention period ends."
      />
      {isAllowed ? (
        <Log workspace={workspace} />
      ) : (
        <EmptyPanel title="Your role can’t view the audit log" action={<MembersLink slug={workspace.slug} />}>
          You are {withArticle(access.role)} here; only {describeHolders(access.holders("audit:read"))} can
          see who changed what.
        </EmptyPanel>
      )}
    </>
  );
}

const exportDialog = {
  load: () => import("./export-dialog.tsx").then((module) => module.ExportDialog),
  closed: { isOpen: false },
};

function Log({ workspace }: { readonly workspace: SessionWorkspace }): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const log = useAuditLog(workspace.id, search);
  const list = useGrowingList(log);
  const table = useTableNavigation<AuditLogSearch>({ navigate });
  const [isExportOpen, exporting] = useDisclosure(false);
  const filterReset = useFilterReset(() => table.change(withoutFilter));
  const isFiltered = isLogFiltered(search);
  const shown = list.items?.find(({ actor }) => actor.userId === search.actor);
  const actorName = shown && nameOwner(describeActor(shown));
  return (
    <>
      <LogFilters
        key={filterReset.key}
        search={search}
        onChange={table.change}
        action={{ label: "Action", titles: actionTitles }}
        actor={
          <PersonFilter
            label="Actor"
            workspaceId={workspace.id}
            chosen={search.actor}
            chosenName={actorName}
            onChoose={(actor) => table.change({ actor })}
          />
        }
        target={{
          label: "Target",
          isId: isTarget,
          error:
            "Enter the ID of a member, API key, invitation, webhook, keyspace, issued key, consumer or workspace.",
        }}
      />
      <GrowingTable
        label="Audit log"
        toolbarAction={
          <Button variant="default" onClick={exporting.open}>
            Export
          </Button>
        }
        list={list}
        nouns={["event", "events"]}
        total="log"
        isFiltered={isFiltered}
        failureTitle="Couldn’t load the audit log"
        columns={auditLogColumns}
        idOf={idOf}
        search={search}
        navigation={table}
        defaultSort={defaultLogSort}
        actions={TargetLink}
        actionsWidth={60}
        empty={
          isFiltered ? (
            <NoMatch noun="event" onClear={filterReset.reset}>
              Change the filters.
            </NoMatch>
          ) : (
            <NoEvents slug={workspace.slug} />
          )
        }
      />
      <LazyDialog
        source={exportDialog}
        props={{ workspace, search, isOpen: isExportOpen, onClose: exporting.close }}
      />
    </>
  );
}

/** Shows only the events with the same target. */
function TargetLink({ target }: AuditEvent): ReactElement {
  const label = "Show only events with this target";
  return (
    <ActionIcon
      variant="subtle"
      aria-label={label}
      title={label}
      renderRoot={(props) => (
        <Link
          {...props}
          from="/w/$slug/audit"
          search={(former) => ({ ...former, target: target.id })}
          replace
        />
      )}
    >
      <IconSearch size={16} />
    </ActionIcon>
  );
}

function idOf({ id }: AuditEvent): string {
  return id;
}

function NoEvents({ slug }: { readonly slug: string }): ReactElement {
  return (
    <EmptyPanel title="No events yet" action={<MembersLink slug={slug} />}>
      Changes to the workspace, its members and its API keys appear here, with the person and IP address.
    </EmptyPanel>
  );
}

function MembersLink({ slug }: { readonly slug: string }): ReactElement {
  return (
    <Button
      variant="default"
      renderRoot={(props) => <Link {...props} to="/w/$slug/members" params={{ slug }} />}
    >
      View members
    </Button>
  );
}
