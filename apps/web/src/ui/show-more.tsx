import { Button } from "@mantine/core";
import { type ReactElement, type ReactNode, useEffect, useRef } from "react";
import classes from "./show-more.module.css";

interface ShowMoreProps {
  readonly hasMore: boolean;
  readonly isLoading: boolean;
  /** Why the next items failed to load. */
  readonly failure: string | undefined;
  /** How many are shown, such as "50 of 120 members". */
  readonly children: ReactNode;
  readonly onShowMore: () => void;
}

/**
 * The button below a list that loads more items. After the last items, the button disappears and
 * the footer takes the focus.
 */
export function ShowMore({ hasMore, isLoading, failure, children, onShowMore }: ShowMoreProps): ReactElement {
  const foot = useRef<HTMLDivElement>(null);
  const hadMore = useRef(hasMore);
  useEffect(() => {
    const isFocusLost = document.activeElement === document.body;
    if (hadMore.current && !hasMore && isFocusLost) foot.current?.focus({ preventScroll: true });
    hadMore.current = hasMore;
  }, [hasMore]);
  return (
    <div className={classes.foot} ref={foot} tabIndex={-1}>
      {failure && (
        <span className={classes.failure} role="alert">
          {failure}
        </span>
      )}
      <span>{children}</span>
      {hasMore && (
        <Button variant="default" aria-busy={isLoading} onClick={() => !isLoading && onShowMore()}>
          {isLoading ? "Loading…" : "Show more"}
        </Button>
      )}
    </div>
  );
}
