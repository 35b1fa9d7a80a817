import { useDocumentTitle } from "@mantine/hooks";
import type { ReactElement, ReactNode, Ref } from "react";
import classes from "./page-header.module.css";

interface PageHeaderProps {
  readonly title: string;
  /** The title in the browser, if it differs. */
  readonly documentTitle?: string;
  /** The heading, which can get the focus if the focused element is removed. */
  readonly titleRef?: Ref<HTMLHeadingElement>;
  /** One line that describes the purpose of the page. */
  readonly explanation: ReactNode;
  /** A link to the page above this one. */
  readonly parent?: ReactNode;
  /** Short facts next to the title. */
  readonly tags?: ReactNode;
  /** The page's primary action. */
  readonly action?: ReactNode;
}

/**
 * The header of every page: the title, one line of explanation, and the primary action on the
 * right.
 */
export function PageHeader(props: PageHeaderProps): ReactElement {
  const { title, documentTitle = title, titleRef, explanation, parent, tags, action } = props;
  useDocumentTitle(`${documentTitle} · Latchkey`);
  return (
    <>
      {parent && (
        <nav className={classes.parent} aria-label="Breadcrumb">
          {parent}
        </nav>
      )}
      <header className={classes.header}>
        <div className={classes.text}>
          <div className={classes.head}>
            <h1 className={classes.title} {...(titleRef && { ref: titleRef, tabIndex: -1 })}>
              <bdi>{title}</bdi>
            </h1>
            {tags}
          </div>
          <p className={classes.explanation}>{explanation}</p>
        </div>
        {action && <div className={classes.action}>{action}</div>}
      </header>
    </>
  );
}
