import { Button } from "@mantine/core";
import { type ReactElement, type ReactNode, useEffect, useRef } from "react";
import { PageSizeSelect } from "./page-size-select.tsx";
import classes from "./show-more.module.css";
import type { PageSize } from "./table-search.ts";

interface ShowMoreProps {
  readonly hasMore: boolean;
  readonly isLoading: boolean;
  /** Why the next items failed to load. */
  readonly failure: string | undefined;
  /** How many are shown, such as "50 of 120 members". */
  readonly children: ReactNode;
  /** How many items load at once, if the user can choose it. */
  readonly pageSize?: { readonly size: PageSize; readonly onChange: (size: PageSize) => void };
  readonly onShowMore: () => void;
}

/**
 * The button below a list that loads more items. After the last items, the button disappears and
 * the number of items takes the focus.
 */
export function ShowMore(props: ShowMoreProps): ReactElement {
  const { hasMore, isLoading, failure, children, pageSize, onShowMore } = props;
  const count = useRef<HTMLSpanElement>(null);
  const hadMore = useRef(hasMore);
  useEffect(() => {
    const isFocusLost = document.activeElement === document.body;
    if (hadMore.current && !hasMore && isFocusLost) count.current?.focus({ preventScroll: true });
    hadMore.current = hasMore;
  }, [hasMore]);
  return (
    <div className={classes.foot}>
      {failure && (
        <span className={classes.failure} role="alert">
          {failure}
        </span>
      )}
      {pageSize && <PageSizeSelect {...pageSize} />}
      <span className={classes.count} ref={count} tabIndex={-1}>
        {children}
      </span>
      {hasMore && (
        <Button variant="default" aria-busy={isLoading} onClick={() => !isLoading && onShowMore()}>
          {isLoading ? "Loading…" : "Show more"}
        </Button>
      )}
    </div>
  );
}
