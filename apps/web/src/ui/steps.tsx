import { IconCheck } from "@tabler/icons-react";
import type { ReactElement, ReactNode } from "react";
import classes from "./steps.module.css";

/** A numbered list of steps. */
export function Steps({ children }: { readonly children: ReactNode }): ReactElement {
  return <ol className={classes.steps}>{children}</ol>;
}

interface StepProps {
  readonly number: number;
  readonly title: string;
  readonly isDone?: boolean | undefined;
  /** Paragraphs and controls. */
  readonly children: ReactNode;
}

export function Step({ number, title, isDone = false, children }: StepProps): ReactElement {
  return (
    <li className={classes.step}>
      <span className={classes.marker} data-done={isDone || undefined} aria-hidden="true">
        {isDone ? <IconCheck size={14} stroke={2.5} /> : number}
      </span>
      <div className={classes.body}>
        <h3 className={classes.title}>
          {title}
          {isDone && <span className="visually-hidden"> (done)</span>}
        </h3>
        {children}
      </div>
    </li>
  );
}
