import { useDocumentTitle } from "@mantine/hooks";
import type { ReactElement, ReactNode } from "react";
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
  return (
    <main className={classes.page} id="content">
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
