import type { ReactElement } from "react";

/** Stands where a table has nothing to say. */
export function None(): ReactElement {
  return (
    <span style={{ color: "var(--lk-dimmed)" }}>
      <span aria-hidden="true">–</span>
      <span className="visually-hidden">None</span>
    </span>
  );
}
