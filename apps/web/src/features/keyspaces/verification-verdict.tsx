import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { SessionWorkspace, VerificationResult } from "../../server/trpc.ts";
import { formatCount } from "../../ui/count.ts";
import { describeRemaining } from "../../ui/elapsed.ts";
import classes from "../../ui/verdict.module.css";
import { describeCode } from "./describe-code.ts";

interface VerificationVerdictProps {
  readonly workspace: SessionWorkspace;
  readonly result: VerificationResult;
  /** Called when the page of the key opens. */
  readonly onOpen: () => void;
}

/** The result of a verification, and what it means. */
export function VerificationVerdict({ workspace, result, onOpen }: VerificationVerdictProps): ReactElement {
  const { code, keyId, keyspaceId, name, externalId, credits, limits } = result;
  const { explanation, outcome } = describeCode(code);
  return (
    <div className={classes.verdict} data-outcome={outcome}>
      <p className={classes.head}>
        <span className={classes.status}>{code}</span>
      </p>
      <p className={classes.words}>{explanation}</p>
      {keyId && keyspaceId && (
        <dl className={classes.facts}>
          <div>
            <dt>Key</dt>
            <dd>
              <Link
                to="/w/$slug/keyspaces/$keyspaceId/keys/$keyId"
                params={{ slug: workspace.slug, keyspaceId, keyId }}
                onClick={onOpen}
              >
                {name || "View key"}
              </Link>
            </dd>
          </div>
          {externalId !== null && (
            <div>
              <dt>Consumer</dt>
              <dd>{externalId}</dd>
            </div>
          )}
          {credits && (
            <div>
              <dt>Remaining credits</dt>
              <dd>{formatCount(credits.remaining)}</dd>
            </div>
          )}
          {limits.map((limit, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: A limit of the key and one of its consumer can be equal.
            <div key={index}>
              <dt>
                Rate limit <code>{limit.name}</code>
              </dt>
              <dd>
                {formatCount(limit.remaining)} of {formatCount(limit.quota)} remaining
                {limit.resetsInSeconds > 0 &&
                  `, resets ${describeRemaining(new Date(limit.resetsInSeconds * 1_000), new Date(0))}`}
              </dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  );
}
