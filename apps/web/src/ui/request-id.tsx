import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { CopyButton } from "./copy-button.tsx";
import classes from "./request-id.module.css";

interface RequestIdProps {
  readonly requestId: string;
  /**
   * Whether the request was rejected with a key that the user may see. If so, the ID links to the page that
   * explains why.
   */
  readonly isExplained?: boolean;
}

/** The ID of a request, truncated if it doesn't fit, and a button that copies the whole ID. */
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
