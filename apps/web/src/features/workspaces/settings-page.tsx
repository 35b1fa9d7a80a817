import { Button, Skeleton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { describeHolders, roleTitles } from "../../server/roles.ts";
import type { Workspace } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { useSessionChanges } from "../../server/use-session-changes.ts";
import { useWorkspaceAccess } from "../../server/use-workspace-access.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import rowClasses from "../../ui/danger-rows.module.css";
import { DeleteRow } from "../../ui/delete-row.tsx";
import { EmptyCell } from "../../ui/empty-cell.tsx";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { LostAccess } from "../../ui/lost-access.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import classes from "../../ui/section.module.css";
import { Section } from "../../ui/section.tsx";
import { useStatusDialog } from "../../ui/use-status-dialog.ts";
import { PolicySection } from "./policy-section.tsx";
import { RetentionSection } from "./retention-section.tsx";
import { SettingsForm } from "./settings-form.tsx";

const route = getRouteApi("/app/w/$slug/settings");
const deleteWorkspaceDialog = {
  load: () => import("./delete-workspace-dialog.tsx").then((module) => module.DeleteWorkspaceDialog),
  closed: { isOpen: false },
};

const secondFactorDialog = {
  load: () => import("./second-factor-dialog.tsx").then((module) => module.SecondFactorDialog),
  closed: { isOpen: false },
};

export function SettingsPage(): ReactElement {
  const { workspace } = route.useRouteContext();
  const access = useWorkspaceAccess(workspace);
  const latest = access.query.data;
  const sessionChanges = useSessionChanges();
  const failure = useLoadingFailure(access.query);
  const [isDeleteOpen, deletion] = useDisclosure(false);
  const secondFactor = useStatusDialog(!latest?.requiresSecondFactor);
  if (access.isLost) {
    return <LostAccess name={workspace.name} onLeave={() => void sessionChanges.remove(workspace.id)} />;
  }
  const canUpdate = access.can("workspace:update");
  const canDelete = access.can("workspace:delete");
  return (
    <>
      <PageHeader
        title="Settings"
        explanation={`The name, description and ID of this workspace, ${canDelete ? "its API key policy, and how long its audit log is kept" : "and its API key policy"}.`}
      />
      {failure ? (
        <FailurePanel
          title="Couldn’t load settings"
          message={failure.message}
          requestId={failure.requestId}
          isRetrying={access.query.isFetching}
          onRetry={() => void access.query.refetch()}
        />
      ) : (
        <>
          {canUpdate && (
            <Section title="General">
              <div className={classes.box}>
                {/* Remounts for another workspace, so that no input is kept. */}
                {latest ? <SettingsForm key={latest.id} workspace={latest} /> : <Skeleton h={238} />}
              </div>
            </Section>
          )}
          {canUpdate && latest && (
            <Section title="Second factor">
              <div className={`${classes.box} ${classes.danger}`}>
                <p className={classes.words}>
                  <strong>{latest.requiresSecondFactor ? "Required" : "Not required"}</strong>
                  {latest.requiresSecondFactor
                    ? "Members without a second factor can’t open this workspace, and their API keys don’t reach it."
                    : "Members can use this workspace after a sign-in with only their password."}
                </p>
                <Button variant="default" flex="none" onClick={secondFactor.open}>
                  {latest.requiresSecondFactor ? "Stop requiring it" : "Require a second factor"}
                </Button>
              </div>
              <LazyDialog
                source={secondFactorDialog}
                props={{
                  workspace: latest,
                  isRequiring: secondFactor.isEnabling,
                  isOpen: secondFactor.isOpen,
                  onClose: secondFactor.close,
                }}
              />
            </Section>
          )}
          <PolicySection key={workspace.id} workspace={workspace} canManage={access.can("api-keys:manage")} />
          {canDelete && latest && <RetentionSection workspace={latest} />}
          <Section title="Details">
            <WorkspaceDetails workspace={latest} hasFields={!canUpdate} />
            {!canUpdate && (
              <p className={classes.note}>
                Only {describeHolders(access.holders("workspace:update"))} can edit this workspace. Only{" "}
                {describeHolders(access.holders("workspace:delete"))} can delete it.
              </p>
            )}
            {canUpdate && !canDelete && (
              <p className={classes.note}>
                Only {describeHolders(access.holders("workspace:delete"))} can delete this workspace.
              </p>
            )}
          </Section>
          {canDelete && (
            <Section title="Danger zone">
              <div className={rowClasses.list}>
                <DeleteRow noun="workspace" onDelete={deletion.open}>
                  All memberships, all keyspaces, the audit log, and the service accounts with their API keys
                  are deleted. Issued keys stop working, and no API key can access the workspace. This can’t
                  be undone.
                </DeleteRow>
              </div>
            </Section>
          )}
        </>
      )}
      <LazyDialog
        source={deleteWorkspaceDialog}
        props={{ workspace, isOpen: isDeleteOpen, onClose: deletion.close }}
      />
    </>
  );
}

interface WorkspaceDetailsProps {
  readonly workspace: Workspace | undefined;
  /** Whether to include the name and description, because no form shows them. */
  readonly hasFields: boolean;
}

function WorkspaceDetails({ workspace, hasFields }: WorkspaceDetailsProps): ReactElement {
  const placeholder = <Skeleton h={12} w={200} />;
  return (
    <dl className={classes.facts} aria-busy={!workspace}>
      {hasFields && (
        <>
          <dt>Name</dt>
          <dd>{workspace ? <bdi>{workspace.name}</bdi> : placeholder}</dd>
          <dt>Description</dt>
          <dd>{workspace ? <Description text={workspace.description} /> : placeholder}</dd>
        </>
      )}
      <dt>ID</dt>
      <dd>
        {workspace ? (
          <>
            <code>{workspace.id}</code>
            <CopyButton text={workspace.id} label="Copy workspace ID" />
          </>
        ) : (
          placeholder
        )}
      </dd>
      <dt>URL</dt>
      <dd>
        {workspace ? (
          <>
            <code>{urlOf(workspace)}</code>
            <CopyButton text={urlOf(workspace)} label="Copy URL" />
          </>
        ) : (
          placeholder
        )}
      </dd>
      <dt>Your role</dt>
      <dd>{workspace ? roleTitles[workspace.role] : placeholder}</dd>
      <dt>Created</dt>
      <dd>{workspace ? <RelativeTime at={workspace.createdAt} /> : placeholder}</dd>
    </dl>
  );
}

function urlOf({ slug }: Workspace): string {
  return `${window.location.origin}/w/${slug}`;
}

function Description({ text }: { readonly text: string }): ReactElement {
  return text === "" ? <EmptyCell /> : <bdi className={classes.lines}>{text}</bdi>;
}
