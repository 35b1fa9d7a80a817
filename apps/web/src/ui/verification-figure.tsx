import type { ReactElement } from "react";
import { formatCount } from "./count.ts";
import classes from "./item-list.module.css";

interface VerificationFigureProps {
  readonly count: number;
  /** How many of them were uses. */
  readonly useCount: number;
}

/** How often a key or a consumer was verified, and used. */
export function VerificationFigure({ count, useCount }: VerificationFigureProps): ReactElement {
  return (
    <>
      <span className={classes.strong}>{formatCount(count)}</span>{" "}
      {count === 1 ? "verification" : "verifications"}
      {useCount < count && `, ${formatCount(useCount)} ${useCount === 1 ? "use" : "uses"}`}
    </>
  );
}
