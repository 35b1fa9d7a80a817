import { ActionIcon, Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { describeHolders, withArticle } from "../../server/roles.ts";
import type { AuditEvent, SessionWorkspace } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { useSessionChanges } from "../../server/use-session-changes.ts";
import { useWorkspaceAccess } from "../../server/use-workspace-access.ts";
import { countOf } from "../../ui/count.ts";
import { DataTable } from "../../ui/data-table.tsx";
import emptyClasses from "../../ui/empty.module.css";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { LostAccess } from "../../ui/lost-access.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { ShowMore } from "../../ui/show-more.tsx";
import classes from "../../ui/toolbar.module.css";
import { auditLogColumns } from "./audit-log-columns.tsx";
import { AuditLogFilters } from "./audit-log-filters.tsx";
import type { AuditLogSearch } from "./audit-log-search.ts";
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
        explanation="Changes to this workspace, its members and the API keys that can reach it, newest first. Entries can’t be changed or removed."
      />
      {isAllowed ? (
        <Log workspace={workspace} />
      ) : (
        <section className={emptyClasses.panel}>
          <h2 className={emptyClasses.title}>Your role can’t view the audit log</h2>
          <p className={emptyClasses.words}>
            You are {withArticle(access.role)} here; only {describeHolders(access.holders("audit:read"))} can
            see who changed what.
          </p>
          <Button
            variant="default"
            renderRoot={(props) => (
              <Link {...props} to="/w/$slug/members" params={{ slug: workspace.slug }} />
            )}
          >
            View members
          </Button>
        </section>
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
  const failure = useLoadingFailure(log);
  const [isExportOpen, exporting] = useDisclosure(false);
  const events = log.data?.pages.flatMap(({ items }) => items);
  const showOnly = (next: AuditLogSearch) => void navigate({ search: next, replace: true });
  const actorName = events?.find(({ actor }) => actor.userId === search.actor)?.actor.name ?? undefined;
  return (
    <>
      <AuditLogFilters workspaceId={workspace.id} search={search} actorName={actorName} onSearch={showOnly} />
      <div className={classes.toolbar}>
        <div className={classes.results}>
          <span role="status" className={classes.count}>
            {log.isPlaceholderData
              ? "Loading…"
              : !failure && events && describeCount(events.length, log.hasNextPage)}
          </span>
          <Button variant="default" onClick={exporting.open}>
            Export
          </Button>
        </div>
      </div>
      {failure ? (
        <FailurePanel
          title="Couldn’t load the audit log"
          message={failure.message}
          requestId={failure.requestId}
          isRetrying={log.isFetching}
          onRetry={() => void log.refetch()}
        />
      ) : events?.length === 0 ? (
        <EmptyLog isFiltered={Object.keys(search).length > 0} onClear={() => showOnly({})} />
      ) : (
        <>
          <DataTable
            label="Audit log"
            columns={auditLogColumns}
            items={events}
            isStale={log.isPlaceholderData}
            idOf={idOf}
            chosen={undefined}
            actions={TargetLink}
            actionsWidth={60}
          />
          {events && (log.hasNextPage || events.length > 50) && (
            <ShowMore
              hasMore={log.hasNextPage}
              isLoading={log.isFetchingNextPage}
              failure={
                log.isFetchNextPageError
                  ? `Couldn’t load more. ${describeFailure(log.error).message}`
                  : undefined
              }
              onShowMore={() => void log.fetchNextPage()}
            >
              {describeCount(events.length, log.hasNextPage)}
            </ShowMore>
          )}
        </>
      )}
      <LazyDialog
        source={exportDialog}
        props={{ workspace, search, isOpen: isExportOpen, onClose: exporting.close }}
      />
    </>
  );
}

/** Shows only the events with the same target. */
function TargetLink({ target }: AuditEvent): ReactElement {
  const label = "Show only changes of this target";
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

function describeCount(count: number, hasMore: boolean): string {
  return hasMore ? `The latest ${countOf(count, "event", "events")}` : countOf(count, "event", "events");
}

interface EmptyLogProps {
  readonly isFiltered: boolean;
  readonly onClear: () => void;
}

function EmptyLog({ isFiltered, onClear }: EmptyLogProps): ReactElement {
  return (
    <section className={emptyClasses.panel}>
      <h2 className={emptyClasses.title}>{isFiltered ? "No event matches" : "Nothing yet"}</h2>
      <p className={emptyClasses.words}>
        Changes to the workspace, its members and its API keys appear here, with the person and IP address.
      </p>
      {isFiltered && (
        <Button variant="default" onClick={onClear}>
          Show all events
        </Button>
      )}
    </section>
  );
}
