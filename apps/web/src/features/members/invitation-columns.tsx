import { roleTitles } from "../../server/roles.ts";
import type { Invitation } from "../../server/trpc.ts";
import type { DataColumn } from "../../ui/data-column.ts";
import { EmailAddress } from "../../ui/email-address.tsx";
import { ExpiryDate } from "../../ui/expiry-date.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { Tag } from "../../ui/tag.tsx";
import classes from "./member-columns.module.css";

/** The label of each status of an invitation. */
export const invitationStatusTitles = {
  pending: "Pending",
  expired: "Expired",
  invalid: "No longer valid",
} as const satisfies Record<Invitation["status"], string>;

/** The columns of the invitations to a workspace. */
export const invitationColumns: readonly [DataColumn<Invitation>, ...DataColumn<Invitation>[]] = [
  {
    id: "email",
    label: "Email address",
    order: "email",
    minWidth: 200,
    grow: 2,
    rank: 0,
    cell: ({ email, status }) => (
      <span className={classes.person}>
        <span className={classes.name} title={email}>
          <EmailAddress address={email} />
        </span>
        {status !== "pending" && <Tag>{invitationStatusTitles[status]}</Tag>}
      </span>
    ),
  },
  {
    id: "role",
    label: "Role",
    minWidth: 88,
    grow: 0,
    rank: 1,
    cell: ({ role }) => roleTitles[role],
  },
  {
    id: "invitedBy",
    label: "Invited by",
    minWidth: 140,
    rank: 3,
    cell: ({ invitedBy }) => <bdi>{invitedBy?.name ?? "The latchkey command"}</bdi>,
  },
  {
    id: "createdAt",
    label: "Invited",
    isTime: true,
    order: "createdAt",
    minWidth: 112,
    grow: 0,
    rank: 4,
    cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
  },
  {
    id: "expiresAt",
    label: "Expires",
    isTime: true,
    minWidth: 120,
    grow: 0,
    rank: 2,
    cell: ({ expiresAt }) => <ExpiryDate at={expiresAt} />,
  },
];
