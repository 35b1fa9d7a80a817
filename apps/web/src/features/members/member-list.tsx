import { useMediaQuery } from "@mantine/hooks";
import type { ReactElement } from "react";
import { MemberCards } from "./member-cards.tsx";
import type { MemberListProps } from "./member-list-props.ts";
import { MemberTable } from "./member-table.tsx";

/** The members as rows, or as cards where rows have no room. */
export function MemberList(props: MemberListProps): ReactElement {
  const isNarrow = useIsNarrow();
  return isNarrow ? <MemberCards {...props} /> : <MemberTable {...props} />;
}

/** Whether rows have no room. */
export function useIsNarrow(): boolean {
  return useMediaQuery("(max-width: 759px)", undefined, { getInitialValueInEffect: false });
}
