import type { ReactElement } from "react";
import { formatCount } from "./count.ts";
import classes from "./item-list.module.css";

/** How often a key or a consumer was verified, or a tag was used. */
export function VerificationFigure({ count }: { readonly count: number }): ReactElement {
  return (
    <>
      <span className={classes.strong}>{formatCount(count)}</span>{" "}
      {count === 1 ? "verification" : "verifications"}
    </>
  );
}
