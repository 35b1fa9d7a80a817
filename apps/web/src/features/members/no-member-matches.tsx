import type { ReactElement } from "react";
import type { Role } from "../../server/trpc.ts";
import { NoMatch } from "../../ui/no-match.tsx";

interface NoMemberMatchesProps {
  readonly search: string;
  readonly role: Role | undefined;
  readonly onClear: () => void;
}

/** Replaces the list if no member matches the search and the role. */
export function NoMemberMatches({ search, role, onClear }: NoMemberMatchesProps): ReactElement {
  return (
    <NoMatch noun="member" search={search} hasFilters={role !== undefined} onClear={onClear}>
      Search covers names and email addresses.
      {role && ` Only members with the ${role} role are searched.`}
    </NoMatch>
  );
}
