import type { ReactElement } from "react";
import classes from "./code-line.module.css";
import { CopyButton } from "./copy-button.tsx";

interface CodeLineProps {
  readonly code: string;
  /** The accessible name of the copy button, such as "Copy command". */
  readonly copyLabel: string;
  /** Whether the copy button takes the focus when it appears. */
  readonly hasAutofocus?: boolean;
  /** Called when the code is copied, by the button or from a selection. */
  readonly onCopied?: () => void;
}

/** A command to paste into a shell. It wraps instead of scrolling, so that all of it is visible. */
export function CodeLine({ code, copyLabel, hasAutofocus = false, onCopied }: CodeLineProps): ReactElement {
  return (
    <div className={classes.line}>
      <code className={classes.code} onCopy={onCopied}>
        {code}
      </code>
      <CopyButton text={code} label={copyLabel} hasAutofocus={hasAutofocus} {...(onCopied && { onCopied })} />
    </div>
  );
}
