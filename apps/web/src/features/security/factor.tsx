import type { ReactElement, ReactNode } from "react";
import classes from "./factor.module.css";

/** Shows the recovery codes that come with the first second factor. */
export interface CodesReceiver {
  readonly onRecoveryCodes: (codes: readonly string[]) => void;
}

interface FactorProps {
  readonly name: ReactNode;
  readonly children: ReactNode;
  readonly action: ReactNode;
}

/** One second factor in the list. */
export function Factor({ name, children, action }: FactorProps): ReactElement {
  return (
    <li className={classes.factor}>
      <div className={classes.words}>
        <strong>{name}</strong>
        {children}
      </div>
      {action}
    </li>
  );
}
