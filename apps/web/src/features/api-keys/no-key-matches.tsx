import type { ReactElement } from "react";
import { type StatusFilter, statusFilters } from "../../ui/key-status.ts";
import { NoMatch } from "../../ui/no-match.tsx";

interface NoKeyMatchesProps {
  readonly search: string;
  readonly status: StatusFilter | undefined;
  readonly onClear: () => void;
  /** The level of the title; 2 by default. */
  readonly level?: 2 | 3;
}

/** Replaces the list if no key matches the search and the status. */
export function NoKeyMatches({ search, status, onClear, level = 2 }: NoKeyMatchesProps): ReactElement {
  return (
    <NoMatch noun="key" search={search} hasFilters={status !== undefined} level={level} onClear={onClear}>
      Search covers names, descriptions and the first characters of keys.
      {status && ` Only keys with the status “${statusFilters[status]}” are searched.`}
    </NoMatch>
  );
}
