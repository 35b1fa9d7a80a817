import { ActionIcon, Select } from "@mantine/core";
import { IconChevronLeft, IconChevronRight } from "@tabler/icons-react";
import type { ReactElement, ReactNode } from "react";
import { formatCount } from "./count.ts";
import classes from "./table-foot.module.css";
import { findLastPage, type PageSize, pageSizes } from "./table-search.ts";

interface TableFootProps {
  readonly page: number;
  readonly size: number;
  readonly total: number;
  readonly onPage: (page: number) => void;
  /** Absent if the page size is fixed. */
  readonly onSize?: (size: PageSize) => void;
}

/** Below a table: which rows it shows, how many per page, and the buttons for other pages. Nothing for a short list. */
export function TableFoot({ page, size, total, onPage, onSize }: TableFootProps): ReactElement | null {
  if (total <= pageSizes[0]) return null;
  const lastPage = findLastPage(total, size);
  return (
    <div className={classes.foot}>
      {onSize && (
        <span className={classes.size}>
          Rows per page
          <Select
            w={72}
            aria-label="Rows per page"
            allowDeselect={false}
            data={pageSizes.map(String)}
            value={String(size)}
            onChange={(value) => {
              const next = pageSizes.find((one) => String(one) === value);
              if (next) onSize(next);
            }}
          />
        </span>
      )}
      <span className={classes.range}>
        Page {formatCount(page)} of {formatCount(lastPage)}
      </span>
      <nav className={classes.pager} aria-label="Pages">
        <Step label="Previous page" isPossible={page > 1} onStep={() => onPage(page - 1)}>
          <IconChevronLeft size={16} />
        </Step>
        <Step label="Next page" isPossible={page < lastPage} onStep={() => onPage(page + 1)}>
          <IconChevronRight size={16} />
        </Step>
      </nav>
    </div>
  );
}

interface StepProps {
  readonly label: string;
  readonly isPossible: boolean;
  readonly onStep: () => void;
  readonly children: ReactNode;
}

/** Not `disabled` on the first and last page, because a disabled button loses the focus. */
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
