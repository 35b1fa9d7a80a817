import type { ReactElement, ReactNode } from "react";
import classes from "./empty.module.css";

interface EmptyPanelProps {
  readonly title: ReactNode;
  /** The level of the title; 2 by default. */
  readonly level?: 1 | 2 | 3;
  /** What appears here, or what the search covers. */
  readonly children: ReactNode;
  /** A button. */
  readonly action?: ReactNode;
}

/** Replaces a list without items. */
export function EmptyPanel({ title, level = 2, children, action }: EmptyPanelProps): ReactElement {
  const Title = `h${level}` as const;
  return (
    <section className={classes.panel}>
      <Title className={classes.title}>{title}</Title>
      <p className={classes.words}>{children}</p>
      {action}
    </section>
  );
}
