import { ActionIcon } from "@mantine/core";
import { IconChevronLeft, IconChevronRight } from "@tabler/icons-react";
import type { ReactElement, ReactNode } from "react";
import { formatCount } from "./count.ts";
import { PageSizeSelect } from "./page-size-select.tsx";
import classes from "./table-footer.module.css";
import { findLastPage, type PageSize, pageSizes } from "./table-search.ts";

interface TableFooterProps {
  readonly page: number;
  readonly size: number;
  readonly total: number;
  readonly onPageChange: (page: number) => void;
  /** Absent if the page size is fixed. */
  readonly onSizeChange?: (size: PageSize) => void;
}

/**
 * The pagination below a table: page size, current page, and buttons. Null for a list that fits the
 * smallest page size.
 */
export function TableFooter({
  page,
  size,
  total,
  onPageChange,
  onSizeChange,
}: TableFooterProps): ReactElement | null {
  if (total <= pageSizes[0]) return null;
  const lastPage = findLastPage(total, size);
  return (
    <div className={classes.foot}>
      {onSizeChange && <PageSizeSelect size={size} onChange={onSizeChange} />}
      <span className={classes.range}>
        Page {formatCount(page)} of {formatCount(lastPage)}
      </span>
      <nav className={classes.pager} aria-label="Pages">
        <PagerButton label="Previous page" isEnabled={page > 1} onPress={() => onPageChange(page - 1)}>
          <IconChevronLeft size={16} />
        </PagerButton>
        <PagerButton label="Next page" isEnabled={page < lastPage} onPress={() => onPageChange(page + 1)}>
          <IconChevronRight size={16} />
        </PagerButton>
      </nav>
    </div>
  );
}

interface PagerButtonProps {
  readonly label: string;
  readonly isEnabled: boolean;
  readonly onPress: () => void;
  readonly children: ReactNode;
}

/** Uses `aria-disabled` instead of `disabled`, because a disabled button loses the focus. */
function PagerButton({ label, isEnabled, onPress, children }: PagerButtonProps): ReactElement {
  return (
    <ActionIcon
      variant="default"
      aria-label={label}
      aria-disabled={!isEnabled}
      {...(!isEnabled && { "data-disabled": true })}
      onClick={() => {
        if (isEnabled) onPress();
      }}
    >
      {children}
    </ActionIcon>
  );
}
