import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { describeActor } from "../../server/describe-actor.ts";
import { describeEvent } from "../../server/describe-event.ts";
import { QueryPanel } from "../../server/query-panel.tsx";
import { refreshEvery } from "../../server/refresh-every.ts";
import { trpc } from "../../server/trpc.ts";
import { EventSentence } from "../../ui/event-sentence.tsx";
import lists from "../../ui/item-list.module.css";
import { OwnerName } from "../../ui/owner-name.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { Section } from "../../ui/section.tsx";
import classes from "./overview.module.css";

const shownEvents = 6;
const refreshMilliseconds = 10_000;

/** The latest changes in a workspace. */
export function Activity({
  workspaceId,
  slug,
}: {
  readonly workspaceId: string;
  readonly slug: string;
}): ReactElement {
  const query = useQuery({
    ...trpc.audit.list.queryOptions({ workspaceId }),
    ...refreshEvery(refreshMilliseconds),
  });
  return (
    <Section
      title="Recent activity"
      isBusy={query.isPending}
      action={
        <Link className={classes.more} to="/w/$slug/audit" params={{ slug }}>
          Show the audit log
        </Link>
      }
    >
      <QueryPanel query={query} failureTitle="Couldn’t load recent activity" height={176}>
        {({ items }) =>
          items.length === 0 ? (
            <p className={lists.empty}>The audit log has no events. Changes in this workspace appear here.</p>
          ) : (
            <ul className={lists.list}>
              {items.slice(0, shownEvents).map((event) => (
                <li key={event.id} className={lists.item}>
                  <span className={lists.subject}>
                    <span className={lists.name}>
                      <OwnerName {...describeActor(event)} />
                    </span>{" "}
                    <EventSentence pieces={describeEvent(event)} />
                  </span>
                  <span className={lists.figure}>
                    <RelativeTime at={event.occurredAt} />
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </QueryPanel>
    </Section>
  );
}
