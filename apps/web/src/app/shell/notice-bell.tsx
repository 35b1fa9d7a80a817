import { IconBell } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { trpc } from "../../server/trpc.ts";
import { countOf } from "../../ui/count.ts";
import classes from "./notice-bell.module.css";

/** How often unread notices are counted while the page is visible, in milliseconds. */
const pollEveryMs = 60_000;
/** The API doesn't count further. */
const maxCount = 100;

/** The link to the notices, with the number of unread ones. */
export function NoticeBell({ initialCount }: { readonly initialCount: number }): ReactElement {
  const { data: count } = useQuery(
    trpc.notices.unreadCount.queryOptions(undefined, {
      initialData: initialCount,
      staleTime: pollEveryMs,
      refetchInterval: pollEveryMs,
    }),
  );
  const shown = count < maxCount ? String(count) : `${maxCount - 1}+`;
  const label = count === 0 ? "Notices" : `Notices, ${countOf(count, "unread notice", "unread notices")}`;
  return (
    <Link to="/account/notices" className={classes.bell} aria-label={label}>
      <IconBell size={18} />
      {count > 0 && <span className={classes.count} data-count={shown} />}
    </Link>
  );
}
