import type { ReactElement, ReactNode } from "react";
import { CodeLine } from "./code-line.tsx";
import dialogClasses from "./dialog.module.css";
import classes from "./issued-secrets.module.css";
import { useUncopiedSecrets } from "./uncopied-secrets.ts";

interface OneTimeLinkProps {
  readonly url: string;
  /** Whom the link is for, and how long it is valid. */
  readonly children: ReactNode;
}

/** Shows a link that can't be shown again. */
export function OneTimeLink({ url, children }: OneTimeLinkProps): ReactElement {
  const { isWarningShown, onCopied } = useUncopiedSecrets([url]);
  return (
    <>
      <p className={dialogClasses.words}>{children} You can’t see it again.</p>
      <div className={dialogClasses.code}>
        <CodeLine code={url} copyLabel="Copy link" hasAutofocus onCopied={() => onCopied(url)} />
      </div>
      <p className={classes.warning} role="alert">
        {isWarningShown &&
          "You haven’t copied the link, and it won’t be shown again. To continue without copying it, try again."}
      </p>
    </>
  );
}
