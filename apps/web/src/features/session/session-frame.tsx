import { useDocumentTitle } from "@mantine/hooks";
import { type ReactElement, type ReactNode, useEffect, useRef } from "react";
import { Logo } from "../../ui/logo.tsx";
import classes from "./session-frame.module.css";

interface SessionFrameProps {
  readonly title: string;
  readonly explanation: ReactNode;
  readonly children: ReactNode;
}

/** The layout of the sign-in and sign-up pages. */
export function SessionFrame({ title, explanation, children }: SessionFrameProps): ReactElement {
  useDocumentTitle(`${title} · Latchkey`);
  const main = useRef<HTMLElement>(null);
  const shownTitle = useRef(title);
  useEffect(() => {
    if (shownTitle.current === title) return;
    shownTitle.current = title;
    // The button that had the focus was removed. Keyboard and screen reader users continue with the result.
    if (document.activeElement === document.body) main.current?.focus();
  }, [title]);
  return (
    <main className={classes.page} id="content" ref={main} tabIndex={-1}>
      <div className={classes.brand}>
        <Logo size={28} />
        Latchkey
      </div>
      <div className={classes.card}>
        <h1 className={classes.title}>{title}</h1>
        <p className={classes.explanation}>{explanation}</p>
        {children}
      </div>
    </main>
  );
}
