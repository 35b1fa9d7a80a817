import { ActionIcon } from "@mantine/core";
import { IconChevronLeft, IconChevronRight } from "@tabler/icons-react";
import type { ReactElement, ReactNode } from "react";
import classes from "./pager.module.css";
import { findLastPage } from "./use-api-keys.ts";

interface PagerProps {
  /** The accessible name of the whole. */
  readonly label: string;
  readonly page: number;
  readonly total: number | undefined;
  readonly onPage: (page: number) => void;
}

/** The way to the pages before and after; nothing where there is but one. */
export function Pager({ label, page, total, onPage }: PagerProps): ReactElement | null {
  const lastPage = findLastPage(total ?? 0);
  if (lastPage === 1) return null;
  return (
    <nav className={classes.pager} aria-label={label}>
      <Step label="Previous page" isPossible={page > 1} onStep={() => onPage(page - 1)}>
        <IconChevronLeft size={16} />
      </Step>
      <Step label="Next page" isPossible={page < lastPage} onStep={() => onPage(page + 1)}>
        <IconChevronRight size={16} />
      </Step>
    </nav>
  );
}

interface StepProps {
  readonly label: string;
  readonly isPossible: boolean;
  readonly onStep: () => void;
  readonly children: ReactNode;
}

/** Not `disabled` at the end of the way: a disabled button would lose the focus. */
function Step({ label, isPossible, onStep, children }: StepProps): ReactElement {
  return (
    <ActionIcon
      variant="default"
      aria-label={label}
      aria-disabled={!isPossible}
      {...(!isPossible && { "data-disabled": true })}
      onClick={() => {
        if (isPossible) onStep();
      }}
    >
      {children}
    </ActionIcon>
  );
}
