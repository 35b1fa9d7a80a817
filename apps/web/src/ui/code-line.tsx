import type { ReactElement } from "react";
import classes from "./code-line.module.css";
import { CopyButton } from "./copy-button.tsx";

interface CodeLineProps {
  readonly code: string;
  /** The accessible name of the copy button, such as "Copy command". */
  readonly copyLabel: string;
  /** Told when it was copied, by the button or by hand. */
  readonly onCopied?: () => void;
}

/** One command to paste into a shell. It wraps rather than scrolls, so that all of it can be read. */
export function CodeLine({ code, copyLabel, onCopied }: CodeLineProps): ReactElement {
  return (
    <div className={classes.line}>
      <code className={classes.code} onCopy={onCopied}>
        {code}
      </code>
      <CopyButton text={code} label={copyLabel} {...(onCopied && { onCopied })} />
    </div>
  );
}
