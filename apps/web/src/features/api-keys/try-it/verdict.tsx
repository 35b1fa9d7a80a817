import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { RequestVerdict } from "../../../server/trpc.ts";
import { formatCount } from "../../../ui/count.ts";
import classes from "../../../ui/verdict.module.css";

const statusLabels: Readonly<Record<number, string>> = {
  200: "Allowed",
  401: "Not an API key",
  403: "Rejected",
  404: "Allowed; the path doesn’t exist",
  405: "Allowed; the method isn’t supported",
  429: "Rate limited",
};

interface VerdictProps {
  readonly verdict: RequestVerdict;
  /** Whether to link to the page of the key. */
  readonly hasLink: boolean;
}

/** What admission would decide about a request, and why. */
export function Verdict({ verdict, hasLink }: VerdictProps): ReactElement {
  const { status, explanation, permission, remaining } = verdict;
  const keyId = hasLink ? verdict.keyId : null;
  return (
    <div className={classes.verdict} data-outcome={outcomeOf(status)}>
      <p className={classes.head}>
        {status === null ? (
          "Not one of your keys"
        ) : (
          <>
            <span className={classes.status}>{status}</span> {statusLabels[status] ?? "Answered"}
          </>
        )}
      </p>
      <p className={classes.words}>{explanation}</p>
      {(permission || remaining !== null || keyId) && (
        <dl className={classes.facts}>
          {permission && (
            <div>
              <dt>Required permission</dt>
              <dd>
                <code>{permission}</code>
              </dd>
            </div>
          )}
          {remaining !== null && (
            <div>
              <dt>Remaining requests</dt>
              <dd>{formatCount(remaining)}</dd>
            </div>
          )}
          {keyId && (
            <div>
              <dt>Key</dt>
              <dd>
                <Link to="/account/api-keys/$keyId" params={{ keyId }}>
                  View key
                </Link>
              </dd>
            </div>
          )}
        </dl>
      )}
    </div>
  );
}

function outcomeOf(status: number | null): "admitted" | "limited" | "rejected" | "unknown" {
  if (status === null) return "unknown";
  if (status === 429) return "limited";
  return status === 401 || status === 403 ? "rejected" : "admitted";
}
