import { useMediaQuery } from "@mantine/hooks";
import type { ReactElement } from "react";
import type { Member, Role } from "../../server/trpc.ts";
import { MemberCards } from "./member-cards.tsx";
import { MemberTable } from "./member-table.tsx";
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

/** The members as rows, or as cards where rows have no room. */
export function MemberList(props: MemberListProps): ReactElement {
  const isNarrow = useIsNarrow();
  return isNarrow ? <MemberCards {...props} /> : <MemberTable {...props} />;
}

/** Whether rows have no room. */
export function useIsNarrow(): boolean {
  return useMediaQuery("(max-width: 759px)", undefined, { getInitialValueInEffect: false });
}
