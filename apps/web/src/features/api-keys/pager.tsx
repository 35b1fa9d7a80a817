import { ActionIcon } from "@mantine/core";
import { IconChevronLeft, IconChevronRight } from "@tabler/icons-react";
import type { ReactElement } from "react";
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
      <ActionIcon
        variant="default"
        aria-label="Previous page"
        disabled={page <= 1}
        onClick={() => onPage(page - 1)}
      >
        <IconChevronLeft size={16} />
      </ActionIcon>
      <ActionIcon
        variant="default"
        aria-label="Next page"
        disabled={page >= lastPage}
        onClick={() => onPage(page + 1)}
      >
        <IconChevronRight size={16} />
      </ActionIcon>
    </nav>
  );
}
