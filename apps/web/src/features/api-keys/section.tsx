import { type ReactElement, type ReactNode, useId } from "react";
import sectionClasses from "../../ui/section.module.css";
import classes from "./key-page.module.css";

interface SectionProps {
  readonly title: string;
  /** What can be done or chosen about it, on the right. */
  readonly action?: ReactNode;
  /** Whether it needs the whole width. */
  readonly isWide?: boolean;
  readonly children: ReactNode;
}

/** One part of a key's page. */
export function Section({ title, action, isWide, children }: SectionProps): ReactElement {
  const id = useId();
  return (
    <section className={sectionClasses.section} aria-labelledby={id} data-wide={isWide || undefined}>
      <div className={classes.sectionHead}>
        <h2 className={sectionClasses.heading} id={id}>
          {title}
        </h2>
        {action}
      </div>
      {children}
    </section>
  );
}
