import { Button, Group, Tooltip, UnstyledButton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus } from "@tabler/icons-react";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type ReactElement, useCallback, useMemo, useState } from "react";
import { roleTitles } from "../../server/roles.ts";
import type { Member, Role } from "../../server/trpc.ts";
import { useGrowingList } from "../../server/use-growing-list.ts";
import { useSessionChanges } from "../../server/use-session-changes.ts";
import { useWorkspaceAccess } from "../../server/use-workspace-access.ts";
import { BulkBar } from "../../ui/bulk-bar.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { GrowingTable } from "../../ui/growing-table.tsx";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { LostAccess } from "../../ui/lost-access.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import removalClasses from "../../ui/removal.module.css";
import { useStable } from "../../ui/use-stable.ts";
import { useTableNavigation } from "../../ui/use-table-navigation.ts";
import { bulkMembers, memberActions } from "./member-bulk-actions.tsx";
import { memberColumns } from "./member-columns.tsx";
import classes from "./members-page.module.css";
import { defaultSort, type MembersSearch } from "./members-search.ts";
import { NoMemberMatches } from "./no-member-matches.tsx";
import type { RoleChoice } from "./role-dialog.tsx";
import { RoleField } from "./role-field.tsx";
import { useMembers } from "./use-members.ts";

const route = getRouteApi("/app/w/$slug/members");
const inviteDialog = {
  load: () => import("./invite-dialog.tsx").then((module) => module.InviteDialog),
  closed: { isOpen: false },
};
const rolesDialog = {
  load: () => import("./roles-dialog.tsx").then((module) => module.RolesDialog),
  closed: { isOpen: false },
};
const removeMemberDialog = {
  load: () => import("./remove-member-dialog.tsx").then((module) => module.RemoveMemberDialog),
  closed: { member: undefined },
};
const roleDialog = {
  load: () => import("./role-dialog.tsx").then((module) => module.RoleDialog),
  closed: { choice: undefined },
};

export function MembersPage(): ReactElement {
  const { session, workspace } = route.useRouteContext();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const access = useWorkspaceAccess(workspace);
  const sessionChanges = useSessionChanges();
  const members = useMembers(workspace.id, search);
  const list = useGrowingList(members);
  const [isInviteOpen, invite] = useDisclosure(false);
  const [isRolesOpen, rolesDisclosure] = useDisclosure(false);
  const [memberToRemove, setMemberToRemove] = useState<Member>();
  const [choice, setChoice] = useState<RoleChoice>();
  const table = useTableNavigation<MembersSearch>({ navigate });
  const pages = members.data?.pages;
  const canManage = access.can("members:manage");
  const canInvite = access.can("members:invite");
  const ownId = session.user.id;
  const { grantableRoles = noRoles, invitableRoles = noRoles, soleOwnerId = null } = pages?.at(-1) ?? {};
  const { columns, actions, blockedReason } = useRows({
    ownId,
    soleOwnerId,
    grantableRoles: canManage ? grantableRoles : noRoles,
    onRole: setChoice,
    onRemove: setMemberToRemove,
  });
  if (access.isLost) {
    return <LostAccess name={workspace.name} onLeave={() => void sessionChanges.remove(workspace.id)} />;
  }
  const { q = "", role } = search;
  return (
    <>
      <PageHeader
        title="Members"
        explanation={
          <>
            Who belongs to this workspace, and{" "}
            <UnstyledButton className={classes.roles} onClick={rolesDisclosure.open}>
              what each role can do
            </UnstyledButton>
            .
          </>
        }
        action={
          canInvite && (
            <Group gap={8}>
              {canManage && (
                <Button
                  variant="default"
                  renderRoot={(props) => (
                    <Link
                      {...props}
                      to="/w/$slug/members/service-accounts"
                      params={{ slug: workspace.slug }}
                    />
                  )}
                >
                  Service accounts
                </Button>
              )}
              <Button
                variant="default"
                renderRoot={(props) => (
                  <Link {...props} to="/w/$slug/members/invitations" params={{ slug: workspace.slug }} />
                )}
              >
                Invitations
              </Button>
              <Button leftSection={<IconPlus size={16} />} onClick={invite.open}>
                Invite member
              </Button>
            </Group>
          )
        }
      />
      <GrowingTable<Member>
        label="Members"
        searchField={{ label: "Search members", placeholder: "Name or email address" }}
        filters={
          <FilterSelect
            label="Role"
            anyLabel="Any role"
            options={roleTitles}
            value={role}
            onChoose={(chosen) => table.change({ role: chosen })}
          />
        }
        list={list}
        nouns={bulkMembers.nouns}
        total={pages?.at(-1)?.total ?? 0}
        isFiltered={q !== "" || role !== undefined}
        failureTitle="Couldn’t load members"
        columns={columns}
        idOf={idOf}
        search={search}
        navigation={table}
        defaultSort={defaultSort}
        actions={actions}
        selection={
          canManage && {
            nameOf: bulkMembers.nameOf,
            blockedReason,
            bar: (items, onSelect) => (
              <BulkBar
                {...bulkMembers}
                items={items}
                actions={memberActions(workspace.id)}
                onSelect={onSelect}
              />
            ),
          }
        }
        empty={
          <NoMemberMatches
            search={q}
            role={role}
            onClear={() => table.change({ q: undefined, role: undefined })}
          />
        }
      />
      <LazyDialog
        source={inviteDialog}
        props={{ workspace, grantableRoles: invitableRoles, isOpen: isInviteOpen, onClose: invite.close }}
      />
      <LazyDialog source={rolesDialog} props={{ isOpen: isRolesOpen, onClose: rolesDisclosure.close }} />
      <LazyDialog
        source={removeMemberDialog}
        props={{
          ...{ workspace, ownId, canManage, member: memberToRemove },
          onClose: () => setMemberToRemove(undefined),
        }}
      />
      <LazyDialog
        source={roleDialog}
        props={{ workspace, ownId, choice, onClose: () => setChoice(undefined) }}
      />
    </>
  );
}

const noRoles: readonly Role[] = [];

function idOf({ userId }: Member): string {
  return userId;
}

const soleOwnerReason =
  "You’re the only owner, so you can’t leave or change your role. Offer ownership to another member first: select Owner as their role.";

interface RowsOptions {
  readonly ownId: string;
  /** The only owner who can sign in; null if there are several. */
  readonly soleOwnerId: string | null;
  /** The roles that the user can grant and revoke. Empty without the permission. */
  readonly grantableRoles: readonly Role[];
  readonly onRole: (choice: RoleChoice) => void;
  readonly onRemove: (member: Member) => void;
}

/**
 * The columns and actions of the rows, and why a row can't be selected for removal. They are memoized, so that rows are
 * rendered again only if they change.
 */
function useRows({ ownId, soleOwnerId, grantableRoles, onRole, onRemove }: RowsOptions) {
  const roles = useStable(grantableRoles);
  const columns = useMemo(
    () =>
      memberColumns({
        ownId,
        roleField: (member) => (
          <RoleField
            member={member}
            choices={choicesFor(member, roles)}
            blockedReason={member.userId === soleOwnerId ? soleOwnerReason : undefined}
            onChoose={(role) => onRole({ member, role })}
          />
        ),
      }),
    [ownId, soleOwnerId, roles, onRole],
  );
  const actions = useCallback(
    (member: Member) => {
      const isSelf = member.userId === ownId;
      if (!isSelf && !roles.includes(member.role)) return null;
      const isBlocked = member.userId === soleOwnerId;
      return (
        <Tooltip label={soleOwnerReason} disabled={!isBlocked}>
          <Button
            className={removalClasses.action}
            variant="subtle"
            color="gray"
            aria-label={isSelf ? "Leave the workspace" : `Remove ${member.name}`}
            aria-disabled={isBlocked}
            {...(isBlocked && { "data-disabled": true, "aria-description": soleOwnerReason })}
            onClick={() => !isBlocked && onRemove(member)}
          >
            {isSelf ? "Leave" : "Remove"}
          </Button>
        </Tooltip>
      );
    },
    [ownId, soleOwnerId, roles, onRemove],
  );
  const blockedReason = useCallback(
    (member: Member) => {
      if (member.userId === ownId) return "You can’t remove yourself. To leave the workspace, use Leave.";
      if (!roles.includes(member.role)) return `Your role can’t remove ${member.role}s.`;
      return member.userId === soleOwnerId ? "The only owner can’t be removed." : undefined;
    },
    [ownId, soleOwnerId, roles],
  );
  return { columns, actions, blockedReason };
}

/** A service account can't be an owner. */
function choicesFor({ kind, role }: Member, roles: readonly Role[]): readonly Role[] {
  if (!roles.includes(role)) return noRoles;
  return kind === "person" ? roles : roles.filter((granted) => granted !== "owner");
}
