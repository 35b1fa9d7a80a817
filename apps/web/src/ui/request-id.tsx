import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { CopyButton } from "./copy-button.tsx";
import classes from "./request-id.module.css";

interface RequestIdProps {
  readonly requestId: string;
  /** Whether the request was rejected with a key of the reader's, so that there is a page that explains it. */
  readonly isExplained?: boolean;
}

/** The ID of a request, cut off if there is no room, and a button that copies all of it. */
export function RequestId({ requestId, isExplained = false }: RequestIdProps): ReactElement {
  const code = (
    <code className={classes.code} title={requestId}>
      {requestId}
    </code>
  );
  return (
    <span className={classes.requestId}>
      {isExplained ? (
        <Link className={classes.link} to="/account/requests/$requestId" params={{ requestId }}>
          {code}
        </Link>
      ) : (
        code
      )}
      <CopyButton text={requestId} label={`Copy request ID ${requestId}`} />
    </span>
  );
}
