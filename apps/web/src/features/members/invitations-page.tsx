import { Button, Group } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus } from "@tabler/icons-react";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type ReactElement, useCallback, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import type { Invitation, Role } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { useSessionChanges } from "../../server/use-session-changes.ts";
import { useWorkspaceAccess } from "../../server/use-workspace-access.ts";
import { countOf, formatCount } from "../../ui/count.ts";
import { DataTable } from "../../ui/data-table.tsx";
import emptyClasses from "../../ui/empty.module.css";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { LostAccess } from "../../ui/lost-access.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { ShowMore } from "../../ui/show-more.tsx";
import { invitationColumns } from "./invitation-columns.tsx";
import { defaultInvitationSort, isInvitationSort } from "./invitations-search.ts";
import { useInvitations } from "./use-invitations.ts";
import { useStable } from "./use-stable.ts";

const route = getRouteApi("/app/w/$slug/members/invitations");
const inviteDialog = {
  load: () => import("./invite-dialog.tsx").then((module) => module.InviteDialog),
  closed: { isOpen: false },
};
const resendDialog = {
  load: () => import("./resend-dialog.tsx").then((module) => module.ResendDialog),
  closed: { invitation: undefined },
};
const revokeDialog = {
  load: () => import("./revoke-dialog.tsx").then((module) => module.RevokeDialog),
  closed: { invitation: undefined },
};
const noRoles: readonly Role[] = [];

/** The invitations to a workspace that nobody has accepted yet. */
export function InvitationsPage(): ReactElement {
  const { workspace } = route.useRouteContext();
  const { sort = defaultInvitationSort } = route.useSearch();
  const navigate = route.useNavigate();
  const access = useWorkspaceAccess(workspace);
  const sessionChanges = useSessionChanges();
  const invitations = useInvitations(workspace.id, { sort });
  const failure = useLoadingFailure(invitations);
  const [isInviteOpen, invite] = useDisclosure(false);
  const [toResend, setToResend] = useState<Invitation>();
  const [toRevoke, setToRevoke] = useState<Invitation>();
  const pages = invitations.data?.pages;
  const { grantableRoles = noRoles, total } = pages?.at(-1) ?? {};
  const roles = useStable(grantableRoles);
  const actions = useCallback(
    (invitation: Invitation) =>
      roles.includes(invitation.role) ? (
        <Group gap={0} wrap="nowrap" justify="flex-end">
          <Button
            variant="subtle"
            color="gray"
            aria-label={`Resend the invitation of ${invitation.email}`}
            onClick={() => setToResend(invitation)}
          >
            Resend
          </Button>
          <Button
            variant="subtle"
            color="gray"
            aria-label={`Revoke the invitation of ${invitation.email}`}
            onClick={() => setToRevoke(invitation)}
          >
            Revoke
          </Button>
        </Group>
      ) : null,
    [roles],
  );
  if (access.isLost) {
    return <LostAccess name={workspace.name} onLeave={() => void sessionChanges.remove(workspace.id)} />;
  }
  const shown = pages?.flatMap(({ items }) => items);
  const inviteButton = (
    <Button leftSection={<IconPlus size={16} />} onClick={invite.open} flex="none">
      Invite a person
    </Button>
  );
  return (
    <>
      <PageHeader
        title="Invitations"
        explanation="People who were invited to this workspace and haven’t joined yet."
        parent={
          <Link to="/w/$slug/members" params={{ slug: workspace.slug }}>
            Members
          </Link>
        }
        action={inviteButton}
      />
      {failure ? (
        <FailurePanel
          title="Couldn’t load invitations"
          message={failure.message}
          requestId={failure.requestId}
          isRetrying={invitations.isFetching}
          onRetry={() => void invitations.refetch()}
        />
      ) : total === 0 ? (
        <NoInvitations />
      ) : (
        <>
          <DataTable
            label="Invitations"
            columns={invitationColumns}
            items={shown}
            isStale={invitations.isPlaceholderData}
            idOf={idOf}
            chosen={undefined}
            sort={sort}
            onSort={(next) =>
              void navigate({
                search: isInvitationSort(next) && next !== defaultInvitationSort ? { sort: next } : {},
                replace: true,
              })
            }
            actions={actions}
            actionsWidth={192}
          />
          {shown && total !== undefined && (invitations.hasNextPage || shown.length > 50) && (
            <ShowMore
              hasMore={invitations.hasNextPage}
              isLoading={invitations.isFetchingNextPage}
              failure={
                invitations.isFetchNextPageError
                  ? `Couldn’t load more. ${describeFailure(invitations.error).message}`
                  : undefined
              }
              onShowMore={() => void invitations.fetchNextPage()}
            >
              {formatCount(shown.length)} of {countOf(total, "invitation", "invitations")}
            </ShowMore>
          )}
        </>
      )}
      <LazyDialog
        source={inviteDialog}
        props={{ workspace, grantableRoles, isOpen: isInviteOpen, onClose: invite.close }}
      />
      <LazyDialog
        source={resendDialog}
        props={{ workspace, invitation: toResend, onClose: () => setToResend(undefined) }}
      />
      <LazyDialog
        source={revokeDialog}
        props={{ workspace, invitation: toRevoke, onClose: () => setToRevoke(undefined) }}
      />
    </>
  );
}

function idOf({ id }: Invitation): string {
  return id;
}

function NoInvitations(): ReactElement {
  return (
    <section className={emptyClasses.panel}>
      <h2 className={emptyClasses.title}>No pending invitations</h2>
      <p className={emptyClasses.words}>
        Invitations appear here until they are accepted or revoked, and for 30 days after they expire.
      </p>
    </section>
  );
}
