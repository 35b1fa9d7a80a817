import type { ReactElement } from "react";
import type { PolicyPreview as Preview } from "../../server/trpc.ts";
import { countOf, formatCount } from "../../ui/count.ts";
import { violationTitles } from "../../ui/describe-violation.ts";
import dialogClasses from "../../ui/dialog.module.css";
import { LastUseHour } from "../../ui/last-use-hour.tsx";
import { OwnerName } from "../../ui/owner-name.tsx";
import classes from "./policy-preview.module.css";

/** The keys that would stop working in a workspace, last used first. */
export function PolicyPreview({ preview }: { readonly preview: Preview }): ReactElement {
  const { keys, total, isComplete } = preview;
  const [first] = keys;
  return (
    <>
      <p className={dialogClasses.words} role="status">
        {first ? (
          <>
            {countOf(total, "key", "keys")} would stop working in this workspace
            {total === 1 ? ". It was " : ", "}
            {first.lastUsedAt === null ? (
              total === 1 ? (
                "not used here recently"
              ) : (
                "none of which was used here recently"
              )
            ) : (
              <>
                {total === 1 ? "last used" : "the last used"} <LastUseHour startsAt={first.lastUsedAt} />
              </>
            )}
            .
          </>
        ) : (
          "No key that works in this workspace would stop working."
        )}
        {!isComplete && " Only the 10,000 newest keys were checked."}
      </p>
      {first && (
        <ul className={classes.keys} aria-label="Keys that would stop working">
          {keys.map((key) => (
            <li key={key.id}>
              <span>
                <bdi>{key.name}</bdi> <code>{key.start}…</code>
              </span>
              <span className={classes.facts}>
                <OwnerName {...key.owner} /> · {violationTitles[key.violation]} ·{" "}
                {key.lastUsedAt === null ? (
                  "not used here recently"
                ) : (
                  <>
                    last used <LastUseHour startsAt={key.lastUsedAt} />
                  </>
                )}
              </span>
            </li>
          ))}
          {total > keys.length && <li>and {formatCount(total - keys.length)} more</li>}
        </ul>
      )}
    </>
  );
}
