import { Button, Select } from "@mantine/core";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { type AuditAction, actionTitles } from "../../server/action-titles.ts";
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
import { LostAccess } from "../../ui/lost-access.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { ShowMore } from "../../ui/show-more.tsx";
import classes from "../../ui/toolbar.module.css";
import { auditLogColumns } from "./audit-log-columns.tsx";
import { isAction } from "./audit-log-search.ts";
import { useAuditLog } from "./use-audit-log.ts";

const route = getRouteApi("/app/w/$slug/audit");
const anyAction = { value: "any", label: "Everything" };

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

function Log({ workspace }: { readonly workspace: SessionWorkspace }): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const log = useAuditLog(workspace.id, search);
  const failure = useLoadingFailure(log);
  const events = log.data?.pages.flatMap(({ items }) => items);
  const choose = (action: AuditAction | undefined) =>
    void navigate({ search: action ? { action } : {}, replace: true });
  return (
    <>
      <div className={classes.toolbar}>
        <div className={classes.filters}>
          <Select
            className={classes.filter}
            aria-label="Action"
            data={[anyAction, ...Object.entries(actionTitles).map(([value, label]) => ({ value, label }))]}
            value={search.action ?? anyAction.value}
            onChange={(value) => choose(isAction(value) ? value : undefined)}
          />
        </div>
        <div className={classes.results}>
          <span role="status" className={classes.count}>
            {log.isPlaceholderData
              ? "Loading…"
              : !failure && events && describeCount(events.length, log.hasNextPage)}
          </span>
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
        <EmptyLog isFiltered={search.action !== undefined} onClear={() => choose(undefined)} />
      ) : (
        <>
          <DataTable
            label="Audit log"
            columns={auditLogColumns}
            items={events}
            isStale={log.isPlaceholderData}
            idOf={idOf}
            chosen={undefined}
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
    </>
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
      <h2 className={emptyClasses.title}>{isFiltered ? "No events of this kind yet" : "Nothing yet"}</h2>
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
