import { Link } from "@tanstack/react-router";
import type { Keyspace } from "../../server/trpc.ts";
import { formatCount } from "../../ui/count.ts";
import type { DataColumn } from "../../ui/data-column.ts";
import { EmptyCell } from "../../ui/empty-cell.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { StatusBadge } from "../../ui/status-badge.tsx";
import { describeKeyspaceStatus } from "./keyspace-status.ts";
import { KeyspaceUses, LastVerification } from "./keyspace-use.tsx";
import classes from "./keyspaces.module.css";

/** The columns of the keyspaces of a workspace. */
export function keyspaceColumns(slug: string): readonly [DataColumn<Keyspace>, ...DataColumn<Keyspace>[]] {
  return [
    {
      id: "name",
      label: "Name",
      order: "name",
      minWidth: 200,
      grow: 2,
      rank: 0,
      cell: ({ id, name }) => (
        <Link
          className={classes.name}
          title={name}
          to="/w/$slug/keyspaces/$keyspaceId"
          params={{ slug, keyspaceId: id }}
        >
          {name}
        </Link>
      ),
    },
    {
      id: "status",
      label: "Status",
      minWidth: 104,
      grow: 0,
      rank: 1,
      cell: (keyspace) => <StatusBadge {...describeKeyspaceStatus(keyspace)} />,
    },
    {
      id: "prefix",
      label: "Prefix",
      minWidth: 132,
      grow: 0,
      rank: 2,
      cell: ({ prefix }) => (
        <code className={classes.mono} title={`${prefix}_`}>
          {prefix}_
        </code>
      ),
    },
    {
      id: "environment",
      label: "Environment",
      minWidth: 112,
      rank: 4,
      cell: ({ environment }) =>
        environment === "" ? <EmptyCell /> : <span title={environment}>{environment}</span>,
    },
    {
      id: "keys",
      label: "Keys",
      minWidth: 92,
      grow: 0,
      isNumeric: true,
      rank: 3,
      cell: ({ keyCount }) => formatCount(keyCount),
    },
    {
      id: "recentUses",
      label: "Uses (30 days)",
      minWidth: 124,
      grow: 0,
      isNumeric: true,
      rank: 5,
      cell: ({ id }) => <KeyspaceUses id={id} />,
    },
    {
      id: "lastVerifiedAt",
      label: "Last verified",
      isTime: true,
      minWidth: 142,
      grow: 0,
      rank: 6,
      cell: ({ id }) => <LastVerification id={id} />,
    },
    {
      id: "createdAt",
      label: "Created",
      isTime: true,
      order: "createdAt",
      minWidth: 112,
      grow: 0,
      rank: 7,
      cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
    },
  ];
}
