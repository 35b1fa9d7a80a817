import type { ReactElement } from "react";
import { CopyButton } from "./copy-button.tsx";
import classes from "./request-id.module.css";

/** The id of a request, cut off where there is no room, and a button that copies all of it. */
export function RequestId({ requestId }: { readonly requestId: string }): ReactElement {
  return (
    <span className={classes.requestId}>
      <code className={classes.code} title={requestId}>
        {requestId}
      </code>
      <CopyButton text={requestId} label={`Copy request ID ${requestId}`} />
    </span>
  );
}
