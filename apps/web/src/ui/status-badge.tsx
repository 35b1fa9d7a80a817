import type { ReactElement } from "react";
import classes from "./status-badge.module.css";

/**
 * The mark of a status. What happens to the requests with a key has a color: "allowed" is green, "limited" is amber and
 * "rejected" is red. Everything else is gray and differs in shape: a dot, a triangle for what needs attention, a ring for
 * what doesn't run.
 */
export type StatusTone = "allowed" | "limited" | "rejected" | "neutral" | "attention" | "inactive";

export interface StatusBadgeProps {
  readonly tone: StatusTone;
  readonly label: string;
}

/** A status. The label states it, so that color is never the only indicator. */
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
