import type { ReactElement } from "react";
import classes from "./status-badge.module.css";

/** How serious a status is: neutral, needs attention soon, or doesn't work. */
export type StatusTone = "ok" | "neutral" | "warning" | "stopped";

export interface StatusBadgeProps {
  readonly tone: StatusTone;
  readonly label: string;
}

/** A status of a key. The label states it, so that color is never the only indicator. */
export function StatusBadge({ tone, label }: StatusBadgeProps): ReactElement {
  return (
    <span className={classes.badge} data-tone={tone}>
      {label}
    </span>
  );
}

/** All statuses of a key. */
export function StatusBadges({ statuses }: { readonly statuses: readonly StatusBadgeProps[] }): ReactElement {
  return (
    <span className={classes.badges}>
      {statuses.map((status) => (
        <StatusBadge key={status.label} {...status} />
      ))}
    </span>
  );
}
