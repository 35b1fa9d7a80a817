import { Button, Group } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus } from "@tabler/icons-react";
import { useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type ReactElement, useCallback, useState } from "react";
import { describeHolders, withArticle } from "../../server/roles.ts";
import { type Invitation, type Role, type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { useGrowingList } from "../../server/use-growing-list.ts";
import { useSessionChanges } from "../../server/use-session-changes.ts";
import { useWorkspaceAccess, type WorkspaceAccess } from "../../server/use-workspace-access.ts";
import { BulkBar } from "../../ui/bulk-bar.tsx";
import { EmptyPanel } from "../../ui/empty-panel.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { GrowingTable } from "../../ui/growing-table.tsx";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { LostAccess } from "../../ui/lost-access.tsx";
import { NoMatch } from "../../ui/no-match.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import removalClasses from "../../ui/removal.module.css";
import { useStable } from "../../ui/use-stable.ts";
import { useTableNavigation } from "../../ui/use-table-navigation.ts";
import { invitationColumns, invitationStatusTitles } from "./invitation-columns.tsx";
import { defaultInvitationSort, type InvitationsSearch } from "./invitations-search.ts";
import { bulkInvitations, invitationActions } from "./member-bulk-actions.tsx";
import { useInvitations } from "./use-invitations.ts";

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
  const access = useWorkspaceAccess(workspace);
  const sessionChanges = useSessionChanges();
  if (access.isLost) {
    return <LostAccess name={workspace.name} onLeave={() => void sessionChanges.remove(workspace.id)} />;
  }
  if (access.can("members:invite")) return <Invitations workspace={workspace} access={access} />;
  return (
    <>
      <PageHeader
        title="Invitations"
        explanation="People who were invited to this workspace and haven’t joined yet."
        parent={<MembersLink slug={workspace.slug} />}
      />
      <EmptyPanel title="Your role can’t invite people">
        You are {withArticle(access.role)} here; only {describeHolders(access.holders("members:invite"))} can
        see and create invitations.
      </EmptyPanel>
    </>
  );
}

interface InvitationsProps {
  readonly workspace: SessionWorkspace;
  readonly access: WorkspaceAccess;
}

function Invitations({ workspace, access }: InvitationsProps): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { sendsEmail } = useSuspenseQuery(trpc.instance.get.queryOptions()).data;
  const invitations = useInvitations(workspace.id, search);
  const list = useGrowingList(invitations);
  const table = useTableNavigation<InvitationsSearch>({ navigate });
  const [isInviteOpen, invite] = useDisclosure(false);
  const [toResend, setToResend] = useState<Invitation>();
  const [toRevoke, setToRevoke] = useState<Invitation>();
  const pages = invitations.data?.pages;
  const { grantableRoles = noRoles, total = 0 } = pages?.at(-1) ?? {};
  const roles = useStable(grantableRoles);
  const actions = useCallback(
    (invitation: Invitation) =>
      roles.includes(invitation.role) ? (
        <Group gap={0} wrap="nowrap" justify="flex-end">
          <Button
            variant="subtle"
            color="gray"
            aria-label={`Resend the invitation for ${invitation.email}`}
            onClick={() => setToResend(invitation)}
          >
            Resend
          </Button>
          <Button
            className={removalClasses.action}
            variant="subtle"
            color="gray"
            aria-label={`Revoke the invitation for ${invitation.email}`}
            onClick={() => setToRevoke(invitation)}
          >
            Revoke
          </Button>
        </Group>
      ) : null,
    [roles],
  );
  const blockedReason = useCallback(
    ({ role }: Invitation) =>
      roles.includes(role) ? undefined : `Your role can’t manage invitations for ${role}s.`,
    [roles],
  );
  const inviteButton = (label: string) => (
    <Button leftSection={<IconPlus size={16} />} onClick={invite.open} flex="none">
      {label}
    </Button>
  );
  const { q, status } = search;
  const isFiltered = q !== undefined || status !== undefined;
  return (
    <>
      <PageHeader
        title="Invitations"
        explanation={
          access.can("members:manage")
            ? "People who were invited to this workspace and haven’t joined yet."
            : "People whom you invited to this workspace and who haven’t joined yet."
        }
        parent={<MembersLink slug={workspace.slug} />}
        action={inviteButton("Invite member")}
      />
      <GrowingTable
        label="Invitations"
        searchField={{ label: "Search invitations", placeholder: "Search by email address" }}
        filters={
          <FilterSelect
            label="Status"
            anyLabel="Any status"
            options={invitationStatusTitles}
            value={status}
            onChoose={(chosen) => table.change({ status: chosen })}
          />
        }
        list={list}
        nouns={bulkInvitations.nouns}
        total={total}
        isFiltered={isFiltered}
        failureTitle="Couldn’t load invitations"
        columns={invitationColumns}
        idOf={idOf}
        search={search}
        navigation={table}
        defaultSort={defaultInvitationSort}
        actions={actions}
        actionsWidth={192}
        selection={{
          nameOf: bulkInvitations.nameOf,
          blockedReason,
          bar: (items, onSelect) => (
            <BulkBar
              {...bulkInvitations}
              items={items}
              actions={invitationActions(workspace.id, sendsEmail)}
              onSelect={onSelect}
            />
          ),
        }}
        empty={
          isFiltered ? (
            <NoMatch
              noun="invitation"
              search={q}
              hasFilters={status !== undefined}
              onClear={() => table.change({ q: undefined, status: undefined })}
            >
              Search covers email addresses.
            </NoMatch>
          ) : (
            <NoInvitations action={inviteButton("Create an invitation")} />
          )
        }
      />
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

function NoInvitations({ action }: { readonly action: ReactElement }): ReactElement {
  return (
    <EmptyPanel title="No pending invitations" action={action}>
      Invitations appear here until they are accepted or revoked, and for 30 days after they expire.
    </EmptyPanel>
  );
}

function MembersLink({ slug }: { readonly slug: string }): ReactElement {
  return (
    <Link to="/w/$slug/members" params={{ slug }}>
      Members
    </Link>
  );
}
