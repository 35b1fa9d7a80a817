import { Button } from "@mantine/core";
import { type ReactElement, type ReactNode, useEffect, useRef } from "react";
import classes from "./show-more.module.css";

interface ShowMoreProps {
  readonly hasMore: boolean;
  readonly isLoading: boolean;
  /** Why the rest did not come, in words. */
  readonly failure: string | undefined;
  /** How many are shown, such as "50 of 120 members". */
  readonly children: ReactNode;
  readonly onMore: () => void;
}

/** The way to the rest of a list, below it. When nothing is left, the focus stays here. */
export function ShowMore({ hasMore, isLoading, failure, children, onMore }: ShowMoreProps): ReactElement {
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
        <Button variant="default" aria-busy={isLoading} onClick={() => !isLoading && onMore()}>
          {isLoading ? "Loading…" : "Show more"}
        </Button>
      )}
    </div>
  );
}
