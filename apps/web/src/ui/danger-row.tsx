import type { ReactElement, ReactNode } from "react";
import classes from "./section.module.css";

interface DangerRowProps {
  readonly title: string;
  /** The button, on the right. */
  readonly action: ReactNode;
  /** What the action does. */
  readonly children: ReactNode;
}

/** An action in the danger zone of a page. */
export function DangerRow({ title, action, children }: DangerRowProps): ReactElement {
  return (
    <div className={classes.danger}>
      <p className={classes.words}>
        <strong>{title}</strong>
        {children}
      </p>
      {action}
    </div>
  );
}
