import type { WorkspaceOverview } from "../../server/trpc.ts";
import { formatCount } from "../../ui/count.ts";
import type { DataColumn } from "../../ui/data-column.ts";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { Tag } from "../../ui/tag.tsx";
import classes from "./name-cell.module.css";

/** The columns of the workspaces of the instance. */
export const workspaceColumns: readonly [DataColumn<WorkspaceOverview>, ...DataColumn<WorkspaceOverview>[]] =
  [
    {
      id: "name",
      label: "Name",
      order: "name",
      minWidth: 200,
      grow: 2,
      rank: 0,
      cell: ({ name, isDisabled }) => (
        <span className={classes.label}>
          <bdi className={classes.name} title={name}>
            {name}
          </bdi>
          {isDisabled && <Tag>Disabled</Tag>}
        </span>
      ),
    },
    {
      id: "slug",
      label: "Slug",
      order: "slug",
      minWidth: 168,
      isWide: true,
      rank: 1,
      cell: ({ slug }) => <code className={classes.slug}>/w/{slug}</code>,
    },
    {
      id: "memberCount",
      label: "People",
      order: "memberCount",
      isNumeric: true,
      minWidth: 92,
      grow: 0,
      rank: 2,
      cell: ({ memberCount }) => formatCount(memberCount),
    },
    {
      id: "serviceAccountCount",
      label: "Service accounts",
      isNumeric: true,
      minWidth: 136,
      grow: 0,
      rank: 7,
      cell: ({ serviceAccountCount }) => formatCount(serviceAccountCount),
    },
    {
      id: "keyCount",
      label: "API keys",
      order: "keyCount",
      isNumeric: true,
      minWidth: 100,
      grow: 0,
      rank: 3,
      cell: ({ keyCount }) => describeCount(keyCount),
    },
    {
      id: "auditEventCount",
      label: "Audit events",
      isNumeric: true,
      minWidth: 112,
      grow: 0,
      rank: 5,
      cell: ({ auditEventCount }) => describeCount(auditEventCount),
    },
    {
      id: "recentRequestCount",
      label: "Requests (7 days)",
      isNumeric: true,
      minWidth: 132,
      grow: 0,
      rank: 4,
      cell: ({ recentRequestCount }) => formatCount(recentRequestCount),
    },
    {
      id: "createdAt",
      label: "Created",
      order: "createdAt",
      isTime: true,
      minWidth: 116,
      grow: 0,
      rank: 6,
      cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
    },
  ];

/** A count with a plus if the server stopped counting there. */
function describeCount({ count, isMore }: WorkspaceOverview["keyCount"]): string {
  return isMore ? `${formatCount(count)}+` : formatCount(count);
}
