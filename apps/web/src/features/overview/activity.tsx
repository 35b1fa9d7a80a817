import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { describeActor } from "../../server/describe-actor.ts";
import { describeEvent } from "../../server/describe-event.ts";
import { refreshEvery } from "../../server/refresh-every.ts";
import { trpc } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { EventSentence } from "../../ui/event-sentence.tsx";
import { FailurePanel } from "../../ui/failure-panel.tsx";
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
  const failure = useLoadingFailure(query);
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
      {failure ? (
        <FailurePanel
          title="Couldn’t load recent activity"
          message={failure.message}
          requestId={failure.requestId}
          isRetrying={query.isFetching}
          onRetry={() => void query.refetch()}
        />
      ) : query.data ? (
        <ul className={lists.list}>
          {query.data.items.slice(0, shownEvents).map((event) => (
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
      ) : (
        <Skeleton h={176} />
      )}
    </Section>
  );
}
