import type { UserOverview } from "../../server/trpc.ts";
import { formatCount } from "../../ui/count.ts";
import type { DataColumn } from "../../ui/data-column.ts";
import { EmailAddress } from "../../ui/email-address.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { Tag } from "../../ui/tag.tsx";
import classes from "./name-cell.module.css";

/** The columns of the users of the instance. */
export const userColumns: readonly [DataColumn<UserOverview>, ...DataColumn<UserOverview>[]] = [
  {
    id: "name",
    label: "Name",
    order: "name",
    minWidth: 200,
    rank: 0,
    cell: ({ name, isOperator, isDisabled }) => (
      <span className={classes.label}>
        <bdi className={classes.name} title={name}>
          {name}
        </bdi>
        {isOperator && <Tag>Operator</Tag>}
        {isDisabled && <Tag>Disabled</Tag>}
      </span>
    ),
  },
  {
    id: "email",
    label: "Email address",
    order: "email",
    minWidth: 180,
    isWide: true,
    grow: 2,
    rank: 1,
    cell: ({ email }) => (
      <span className={classes.text} title={email}>
        <EmailAddress address={email} />
      </span>
    ),
  },
  {
    id: "lastSignInAt",
    label: "Last sign-in",
    isTime: true,
    minWidth: 116,
    grow: 0,
    rank: 2,
    cell: ({ lastSignInAt }) => (lastSignInAt ? <RelativeTime at={lastSignInAt} /> : "Never"),
  },
  {
    id: "workspaceCount",
    label: "Workspaces",
    isNumeric: true,
    minWidth: 110,
    grow: 0,
    rank: 3,
    cell: ({ workspaceCount }) => formatCount(workspaceCount),
  },
  {
    id: "keyCount",
    label: "API keys",
    isNumeric: true,
    minWidth: 96,
    grow: 0,
    rank: 4,
    cell: ({ keyCount }) => formatCount(keyCount),
  },
  {
    id: "createdAt",
    label: "Created",
    order: "createdAt",
    isTime: true,
    minWidth: 116,
    grow: 0,
    rank: 5,
    cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
  },
];
