import type { ReactElement, ReactNode } from "react";
import classes from "./tag.module.css";

/** A short fact next to a name, such as "You". */
export function Tag({ children }: { readonly children: ReactNode }): ReactElement {
  return <span className={classes.tag}>{children}</span>;
}
