import type { ReactElement } from "react";

/** The content of an empty table cell: a dash, which screen readers announce as "None". */
export function EmptyCell(): ReactElement {
  return (
    <span data-empty style={{ color: "var(--lk-dimmed)" }}>
      <span aria-hidden="true">–</span>
      <span className="visually-hidden">None</span>
    </span>
  );
}
