import { type ReactElement, type ReactNode, useId } from "react";
import classes from "./section.module.css";

interface SectionProps {
  readonly title: string;
  /** Controls on the right of the heading. */
  readonly action?: ReactNode;
  /** Whether the section takes the whole width of the page. */
  readonly isWide?: boolean;
  readonly children: ReactNode;
}

/** A section of a page, with a heading. */
export function Section({ title, action, isWide, children }: SectionProps): ReactElement {
  const id = useId();
  return (
    <section className={classes.section} aria-labelledby={id} data-wide={isWide || undefined}>
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
