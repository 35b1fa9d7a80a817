import type { ReactElement } from "react";
import classes from "./time-zone.module.css";

/** The reader's time zone, as text. */
export function describeTimeZone(): string {
  return `Time zone: ${Intl.DateTimeFormat().resolvedOptions().timeZone}`;
}

/** States which time zone the days and hours nearby are in. */
export function TimeZone(): ReactElement {
  return <span className={classes.zone}>{describeTimeZone()}</span>;
}
