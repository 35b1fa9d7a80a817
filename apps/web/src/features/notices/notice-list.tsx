import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { Notice, SessionWorkspace } from "../../server/trpc.ts";
import { formatMessage } from "../../ui/format-message.ts";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { Tag } from "../../ui/tag.tsx";
import classes from "./notices.module.css";

interface NoticeListProps {
  readonly notices: readonly Notice[];
  readonly workspaces: readonly SessionWorkspace[];
  /** @param item the element of the notice. */
  readonly onRead: (id: string, item: HTMLElement | null) => void;
}

export function NoticeList({ notices, workspaces, onRead }: NoticeListProps): ReactElement {
  return (
    <ul className={classes.list} aria-label="Notices">
      {notices.map((notice) => (
        <li key={notice.id} className={classes.notice}>
          <div className={classes.head}>
            {/* Can get the focus, because the button is removed. */}
            <h3 className={classes.title} tabIndex={-1}>
              {notice.title}
            </h3>
            {!notice.isRead && <Tag>Unread</Tag>}
            <span className={classes.time}>
              <RelativeTime at={notice.createdAt} />
            </span>
          </div>
          {/* A node of a previous version sends no pieces. */}
          <p className={classes.words}>{formatMessage(notice.pieces ?? [notice.message])}</p>
          <div className={classes.actions}>
            <NoticeLink notice={notice} workspaces={workspaces} />
            {!notice.isRead && (
              <Button
                variant="subtle"
                color="gray"
                size="compact-sm"
                aria-label={`Mark “${notice.title}” as read`}
                onClick={({ currentTarget }) => onRead(notice.id, currentTarget.closest("li"))}
              >
                Mark as read
              </Button>
            )}
          </div>
        </li>
      ))}
    </ul>
  );
}

/** The pages of a workspace that notices link to. */
const workspacePages = {
  workspace: { to: "/w/$slug", label: "Open the workspace" },
  members: { to: "/w/$slug/members", label: "Open the members" },
  "service-accounts": { to: "/w/$slug/members/service-accounts", label: "Open the service accounts" },
  invitations: { to: "/w/$slug/members/invitations", label: "Open the invitations" },
  webhooks: { to: "/w/$slug/webhooks", label: "Open the webhooks" },
} as const;

/** Nothing for a workspace that the user can no longer open. */
function NoticeLink({
  notice: { link },
  workspaces,
}: Pick<NoticeListProps, "workspaces"> & { readonly notice: Notice }): ReactElement | null {
  if (!link) return null;
  const slugOf = (workspaceId: string) => workspaces.find(({ id }) => id === workspaceId)?.slug;
  switch (link.to) {
    case "key":
      return (
        <Link to="/account/api-keys/$keyId" params={{ keyId: link.keyId }}>
          Open the API key
        </Link>
      );
    case "keys":
      return <Link to="/account/api-keys">Open your API keys</Link>;
    case "security":
      return <Link to="/account/security">Open your sessions</Link>;
    case "service-account": {
      const slug = slugOf(link.workspaceId);
      if (slug === undefined) return null;
      return (
        <Link to="/w/$slug/members/service-accounts/$userId" params={{ slug, userId: link.userId }}>
          Open the service account
        </Link>
      );
    }
    default: {
      const slug = slugOf(link.workspaceId);
      if (slug === undefined) return null;
      const { to, label } = workspacePages[link.to];
      return (
        <Link to={to} params={{ slug }}>
          {label}
        </Link>
      );
    }
  }
}
