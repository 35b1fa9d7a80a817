import { type ReactElement, type ReactNode, useId } from "react";
import classes from "./section.module.css";

interface SectionProps {
  readonly title: string;
  /** Controls on the right of the heading. */
  readonly action?: ReactNode;
  /** Whether the section takes the whole width of the page. */
  readonly isWide?: boolean;
  /** Whether its content is loading. */
  readonly isBusy?: boolean;
  readonly children: ReactNode;
}

/** A section of a page, with a heading. */
export function Section({ title, action, isWide, isBusy, children }: SectionProps): ReactElement {
  const id = useId();
  return (
    <section
      className={classes.section}
      aria-labelledby={id}
      data-wide={isWide || undefined}
      aria-busy={isBusy || undefined}
    >
      <div className={classes.head}>
        <h2 className={classes.heading} id={id}>
          {title}
        </h2>
        {action}
      </div>
      {children}
    </section>
  );
}
