import { Button } from "@mantine/core";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type ReactElement, useEffect, useRef, useState } from "react";
import { describeActor } from "../../server/describe-actor.ts";
import { QueryPanel } from "../../server/query-panel.tsx";
import type { IssuedKeyChange } from "../../server/trpc.ts";
import { formatCount } from "../../ui/count.ts";
import { EventSentence } from "../../ui/event-sentence.tsx";
import itemClasses from "../../ui/item-list.module.css";
import { OwnerName } from "../../ui/owner-name.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import sectionClasses from "../../ui/section.module.css";
import { Section } from "../../ui/section.tsx";
import { SegmentedControl } from "../../ui/segmented-control.tsx";
import { describeKeyChange } from "./describe-key-change.ts";
import classes from "./keyspaces.module.css";
import { type IssuedKeyPath, useIssuedKeyChanges } from "./use-issued-key-history.ts";

const route = getRouteApi("/app/w/$slug/keyspaces/$keyspaceId/keys/$keyId");

const filters = [
  { value: "all", label: "All" },
  { value: "credits", label: "Credits" },
] as const;

/** How many changes are shown at first. */
const shownAtFirst = 10;

interface ChangesSectionProps {
  readonly path: IssuedKeyPath;
  readonly slug: string;
  /** Whether the user may read the audit log. */
  readonly canReadLog: boolean;
}

/** Who changed a key and its credits, and when. */
export function IssuedKeyChangesSection({ path, slug, canReadLog }: ChangesSectionProps): ReactElement {
  const { changes: which = "all" } = route.useSearch();
  const navigate = route.useNavigate();
  const query = useIssuedKeyChanges(path, which);
  return (
    <Section
      title="Changes to this key"
      isBusy={query.isPlaceholderData}
      action={
        <div className={classes.changeControls}>
          {canReadLog && (
            <Link
              className={classes.auditLog}
              to="/w/$slug/audit"
              params={{ slug }}
              search={{ target: path.id }}
            >
              Show in the audit log
            </Link>
          )}
          <SegmentedControl
            label="Changes"
            options={filters}
            value={which}
            onChoose={(chosen) =>
              void navigate({
                search: ({ changes: _changes, ...before }) => ({
                  ...before,
                  ...(chosen === "credits" && { changes: chosen }),
                }),
                replace: true,
                resetScroll: false,
              })
            }
          />
        </div>
      }
    >
      <QueryPanel query={query} failureTitle="Couldn’t load the changes" height={42}>
        {(changes) =>
          changes.length === 0 ? (
            <div className={sectionClasses.box}>
              <p className={sectionClasses.empty}>
                {which === "credits"
                  ? "The audit log has no changes to the credits of this key. Uses and refills don’t appear here."
                  : "The audit log has no changes to this key. Edits, rotations and credit changes appear here."}
              </p>
            </div>
          ) : (
            <Changes key={which} changes={changes} areCredits={which === "credits"} />
          )
        }
      </QueryPanel>
    </Section>
  );
}

function Changes({
  changes,
  areCredits,
}: {
  readonly changes: readonly IssuedKeyChange[];
  readonly areCredits: boolean;
}): ReactElement {
  const [isAllShown, setIsAllShown] = useState(false);
  const shown = isAllShown ? changes : changes.slice(0, shownAtFirst);
  const hidden = changes.length - shown.length;
  const firstEarlier = useRef<HTMLLIElement>(null);
  // The button disappears and would lose the focus to the document.
  useEffect(() => {
    if (isAllShown) firstEarlier.current?.focus({ preventScroll: true });
  }, [isAllShown]);
  return (
    <>
      <ul className={itemClasses.list}>
        {shown.map((change, index) => (
          <li
            key={change.id}
            className={itemClasses.item}
            ref={index === shownAtFirst ? firstEarlier : undefined}
            tabIndex={index < shownAtFirst ? undefined : -1}
          >
            <span className={itemClasses.subject}>
              <span className={itemClasses.name}>
                <OwnerName {...describeActor(change)} />
              </span>{" "}
              <EventSentence pieces={describeKeyChange(change)} />
            </span>
            <span className={itemClasses.figure}>
              <RelativeTime at={change.occurredAt} />
            </span>
          </li>
        ))}
      </ul>
      {areCredits && (
        <p className={sectionClasses.note}>
          Uses and refills also change the balance. They aren’t listed here.
        </p>
      )}
      {hidden > 0 && (
        <Button className={classes.moreChanges} variant="default" onClick={() => setIsAllShown(true)}>
          Show {formatCount(hidden)} earlier {hidden === 1 ? "change" : "changes"}
        </Button>
      )}
    </>
  );
}
