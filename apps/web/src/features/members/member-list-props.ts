import type { Member, Role } from "../../server/trpc.ts";
import type { MemberSort } from "./members-search.ts";

export interface MemberListProps {
  readonly workspaceId: string;
  readonly ownId: string;
  /** Undefined while they load: placeholders of the same shape stand in. */
  readonly members: readonly Member[] | undefined;
  /** Whether they answer the search before, while those of now load. */
  readonly isOld: boolean;
  /** The roles that the person may give and take; none for who may change none. */
  readonly grantableRoles: readonly Role[];
  readonly sort: MemberSort;
  readonly onSort: (sort: MemberSort) => void;
  readonly onRemove: (member: Member) => void;
  /** Asked before the person's own role becomes a lower one. */
  readonly onLower: (member: Member, role: Role) => void;
}
