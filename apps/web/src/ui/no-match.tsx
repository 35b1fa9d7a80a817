import { Button } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";
import { EmptyPanel } from "./empty-panel.tsx";
import { Quoted } from "./quoted.tsx";

interface NoMatchProps {
  /** What the list holds, such as "key". */
  readonly noun: string;
  /** The text that was searched for; empty if only filters are set. */
  readonly search?: string | undefined;
  /** Whether a filter is set too. */
  readonly hasFilters?: boolean;
  /** The level of the title; 2 by default. */
  readonly level?: 2 | 3;
  /** What the search and the filters cover. */
  readonly children: ReactNode;
  /** Clears the search and the filters. */
  readonly onClear: () => void;
}

/** Replaces a list if nothing matches its search and filters. */
export function NoMatch(props: NoMatchProps): ReactElement {
  const { noun, search = "", hasFilters = false, level = 2, children, onClear } = props;
  const title =
    search === "" ? (
      `No ${noun} matches the filters`
    ) : (
      <>
        No {noun} matches <Quoted>{search}</Quoted>
      </>
    );
  return (
    <EmptyPanel
      title={title}
      level={level}
      action={
        <Button
          variant="default"
          onClick={() => {
            // The list replaces the button, which has the focus.
            document.getElementById("content")?.focus({ preventScroll: true });
            onClear();
          }}
        >
          {search === "" || hasFilters ? "Clear filters" : "Clear search"}
        </Button>
      }
    >
      {children}
    </EmptyPanel>
  );
}
