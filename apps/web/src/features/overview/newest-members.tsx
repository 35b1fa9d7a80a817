import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { QueryPanel } from "../../server/query-panel.tsx";
import { refreshEvery } from "../../server/refresh-every.ts";
import { roleTitles } from "../../server/roles.ts";
import { trpc } from "../../server/trpc.ts";
import lists from "../../ui/item-list.module.css";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { Section } from "../../ui/section.tsx";
import classes from "./overview.module.css";

const shownMembers = 5;
const refreshMilliseconds = 10_000;

/** The members who joined last, and the total number of members. */
export function NewestMembers({
  workspaceId,
  slug,
}: {
  readonly workspaceId: string;
  readonly slug: string;
}): ReactElement {
  const query = useQuery({
    ...trpc.members.list.queryOptions({ workspaceId, sort: "-joinedAt" }),
    ...refreshEvery(refreshMilliseconds),
  });
  return (
    <Section
      title="Newest members"
      isBusy={query.isPending}
      action={
        query.data && (
          <Link className={classes.more} to="/w/$slug/members" params={{ slug }}>
            View all members
          </Link>
        )
      }
    >
      <QueryPanel query={query} failureTitle="Couldn’t load members" height={120}>
        {({ items }) => (
          <ul className={lists.list}>
            {items.slice(0, shownMembers).map(({ userId, name, email, role, joinedAt }) => (
              <li key={userId} className={lists.item}>
                <div className={lists.subject}>
                  <bdi className={lists.name}>{name}</bdi>
                  <span className={lists.detail}>{email ?? "Service account"}</span>
                </div>
                <span className={lists.figure}>
                  {roleTitles[role]}, joined <RelativeTime at={joinedAt} />
                </span>
              </li>
            ))}
          </ul>
        )}
      </QueryPanel>
    </Section>
  );
}
