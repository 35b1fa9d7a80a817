import { Button } from "@mantine/core";
import type { ReactElement } from "react";
import { EmptyPanel } from "../../ui/empty-panel.tsx";
import { type StatusFilter, statusFilters } from "../../ui/key-status.ts";
import { Quoted } from "../../ui/quoted.tsx";

interface NoMatchProps {
  readonly search: string;
  readonly status: StatusFilter | undefined;
  readonly onClear: () => void;
  /** The level of the title; 2 by default. */
  readonly level?: 2 | 3;
}

/** Replaces the list if no key matches the search and the status. */
export function NoMatch({ search, status, onClear, level = 2 }: NoMatchProps): ReactElement {
  return (
    <EmptyPanel
      level={level}
      title={
        search === "" ? (
          "No key has this status"
        ) : (
          <>
            No key matches <Quoted>{search}</Quoted>
          </>
        )
      }
      action={
        <Button variant="default" onClick={onClear}>
          {status ? "Clear filters" : "Clear search"}
        </Button>
      }
    >
      Search covers names, descriptions and the first characters of keys.
      {status && ` Only keys with the status “${statusFilters[status]}” are searched.`}
    </EmptyPanel>
  );
}
