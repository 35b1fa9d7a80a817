import { Button, UnstyledButton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import type { Member } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { useSessionChanges } from "../../server/use-session-changes.ts";
import { useWorkspaceAccess } from "../../server/use-workspace-access.ts";
import { countOf, formatCount } from "../../ui/count.ts";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { LostAccess } from "../../ui/lost-access.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { ShowMore } from "../../ui/show-more.tsx";
import { AddMemberDialog } from "./add-member-dialog.tsx";
import { type Lowering, LowerRoleDialog } from "./lower-role-dialog.tsx";
import { MemberList } from "./member-list.tsx";
import { MemberToolbar } from "./member-toolbar.tsx";
import classes from "./members-page.module.css";
import { type MembersSearch, usualSort } from "./members-search.ts";
import { NoMatch } from "./no-match.tsx";
import { RemoveMemberDialog } from "./remove-member-dialog.tsx";
import { RolesDialog } from "./roles-dialog.tsx";
import { useMembers } from "./use-members.ts";

const route = getRouteApi("/app/w/$slug/members");

export function MembersPage(): ReactElement {
  const { session, workspace } = route.useRouteContext();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const access = useWorkspaceAccess(workspace);
  const sessionChanges = useSessionChanges();
  const members = useMembers(workspace.id, search);
  const failure = useLoadingFailure(members);
  const [isAddOpen, add] = useDisclosure(false);
  const [isRolesOpen, rolesDialog] = useDisclosure(false);
  const [leaving, setLeaving] = useState<Member>();
  const [lowering, setLowering] = useState<Lowering>();
  const filter = (change: { readonly [Name in keyof MembersSearch]: MembersSearch[Name] | undefined }) =>
    void navigate({ search: (before) => ({ ...before, ...change }) as MembersSearch, replace: true }); // What is undefined is left out.

  if (access.isLost) {
    return <LostAccess name={workspace.name} onLeave={() => void sessionChanges.leave(workspace.id)} />;
  }
  const { q = "", role, sort = usualSort } = search;
  const pages = members.data?.pages;
  const shown = pages?.flatMap(({ items }) => items);
  const total = pages?.at(-1)?.total;
  const mayManage = access.may("members:manage");
  const ownId = session.user.id;
  return (
    <>
      <PageHeader
        title="Members"
        explanation={
          <>
            Who belongs to this workspace, and{" "}
            <UnstyledButton className={classes.roles} onClick={rolesDialog.open}>
              what each role may do
            </UnstyledButton>
            .
          </>
        }
        action={
          mayManage && (
            <Button leftSection={<IconPlus size={16} />} onClick={add.open} flex="none">
              Add a member
            </Button>
          )
        }
      />
      <MemberToolbar
        search={q}
        role={role}
        sort={sort}
        results={describeResults(members.isPlaceholderData, failure ? undefined : total)}
        onSearch={(text) => filter({ q: text.trim() === "" ? undefined : text })}
        onRole={(next) => filter({ role: next })}
        onSort={(next) => filter({ sort: next === usualSort ? undefined : next })}
      />
      {failure ? (
        <FailurePanel
          title="Couldn’t load members"
          message={failure.message}
          requestId={failure.requestId}
          isRetrying={members.isFetching}
          onRetry={() => void members.refetch()}
        />
      ) : total === 0 ? (
        <NoMatch
          search={q}
          role={role}
          onClear={() => void navigate({ search: sort === usualSort ? {} : { sort } })}
        />
      ) : (
        <>
          <MemberList
            workspaceId={workspace.id}
            ownId={ownId}
            members={shown}
            isOld={members.isPlaceholderData}
            grantableRoles={mayManage ? (pages?.at(-1)?.grantableRoles ?? []) : []}
            sort={sort}
            onSort={(next) => filter({ sort: next === usualSort ? undefined : next })}
            onRemove={setLeaving}
            onLower={(member, next) => setLowering({ member, role: next })}
          />
          {shown && total !== undefined && (members.hasNextPage || shown.length > 50) && (
            <ShowMore
              hasMore={members.hasNextPage}
              isLoading={members.isFetchingNextPage}
              failure={
                members.isFetchNextPageError
                  ? `Couldn’t load more. ${describeFailure(members.error).message}`
                  : undefined
              }
              onMore={() => void members.fetchNextPage()}
            >
              {formatCount(shown.length)} of {countOf(total, "member", "members")}
            </ShowMore>
          )}
        </>
      )}
      <AddMemberDialog workspace={workspace} isOpen={isAddOpen} onClose={add.close} />
      <RolesDialog isOpen={isRolesOpen} onClose={rolesDialog.close} />
      <RemoveMemberDialog
        workspace={workspace}
        ownId={ownId}
        member={leaving}
        onClose={() => setLeaving(undefined)}
      />
      <LowerRoleDialog workspace={workspace} lowering={lowering} onClose={() => setLowering(undefined)} />
    </>
  );
}

function describeResults(isOld: boolean, total: number | undefined): string {
  if (isOld) return "Loading…";
  return total === undefined ? "" : countOf(total, "member", "members");
}
