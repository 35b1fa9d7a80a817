import { Link } from "@tanstack/react-router";
import { actionTitles } from "../../server/action-titles.ts";
import type { Webhook } from "../../server/trpc.ts";
import { countOf } from "../../ui/count.ts";
import type { DataColumn } from "../../ui/data-column.ts";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { StatusBadge } from "../../ui/status-badge.tsx";
import { describeWebhookStatus } from "./webhook-status.ts";
import classes from "./webhooks.module.css";

/** The columns of the webhooks of a workspace. */
export function webhookColumns(slug: string): readonly [DataColumn<Webhook>, ...DataColumn<Webhook>[]] {
  return [
    {
      id: "url",
      label: "URL",
      order: "url",
      minWidth: 200,
      grow: 3,
      rank: 0,
      cell: ({ id, url, description }) => (
        <span className={classes.name}>
          <Link
            to="/w/$slug/webhooks/$webhookId"
            params={{ slug, webhookId: id }}
            className={classes.url}
            title={url}
          >
            {url}
          </Link>
          {description !== "" && <bdi className={classes.description}>{description}</bdi>}
        </span>
      ),
    },
    {
      id: "status",
      label: "Status",
      minWidth: 104,
      grow: 0,
      rank: 1,
      cell: (webhook) => <StatusBadge {...describeWebhookStatus(webhook)} />,
    },
    {
      id: "events",
      label: "Events",
      minWidth: 128,
      rank: 2,
      cell: ({ actions }) => describeActions(actions),
    },
    {
      id: "createdAt",
      label: "Created",
      isTime: true,
      order: "createdAt",
      minWidth: 112,
      grow: 0,
      rank: 3,
      cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
    },
  ];
}

function describeActions(actions: Webhook["actions"]): string {
  if (!actions) return "All events";
  const [first] = actions;
  return first && actions.length === 1
    ? (actionTitles[first] ?? first)
    : countOf(actions.length, "event type", "event types");
}
