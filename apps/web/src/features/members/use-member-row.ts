import type { Member, Role } from "../../server/trpc.ts";
import type { MemberListProps } from "./member-list-props.ts";
import { useRoleChange } from "./use-role-change.tsx";

/** What a row or card of a member offers. */
export interface MemberRow {
  readonly member: Member;
  readonly isOneself: boolean;
  /** The roles to choose from; none where the person may not change this one. */
  readonly choices: readonly Role[];
  readonly isRemovable: boolean;
  readonly change: ReturnType<typeof useRoleChange>;
  readonly onRole: (role: Role) => void;
}

export function useMemberRow(member: Member, list: MemberListProps): MemberRow {
  const { workspaceId, ownId, grantableRoles, onLower } = list;
  const change = useRoleChange(workspaceId, member);
  const isOneself = member.userId === ownId;
  const isChangeable = grantableRoles.includes(member.role);
  return {
    member,
    isOneself,
    choices: isChangeable ? grantableRoles : [],
    isRemovable: isOneself || isChangeable,
    change,
    onRole: (role) => {
      if (role === member.role || change.isPending) return;
      change.reset();
      // Whoever may change roles holds the greatest that they can give, so that their own can only become lower.
      if (isOneself) onLower(member, role);
      else change.mutate(role);
    },
  };
}
