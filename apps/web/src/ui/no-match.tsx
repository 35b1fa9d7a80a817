import { Button } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";
import { EmptyPanel } from "./empty-panel.tsx";

interface NoMatchProps {
  /** Such as "No event matches". */
  readonly title: string;
  /** The level of the title; 2 by default. */
  readonly level?: 2 | 3;
  /** What the search and the filters cover. */
  readonly children: ReactNode;
  readonly onClear: () => void;
}

/** Replaces a list if nothing matches its search and filters. */
export function NoMatch({ title, level = 2, children, onClear }: NoMatchProps): ReactElement {
  return (
    <EmptyPanel
      title={title}
      level={level}
      action={
        <Button variant="default" onClick={onClear}>
          Clear filters
        </Button>
      }
    >
      {children}
    </EmptyPanel>
  );
}
