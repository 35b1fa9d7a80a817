import type { ReactElement } from "react";
import type { Member } from "../../server/trpc.ts";
import type { DataColumn } from "../../ui/data-column.ts";
import { EmailAddress } from "../../ui/email-address.tsx";
import { EmptyCell } from "../../ui/empty-cell.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { Tag } from "../../ui/tag.tsx";
import classes from "./member-columns.module.css";

interface MemberColumnsOptions {
  readonly ownId: string;
  readonly roleField: (member: Member) => ReactElement;
}

/** The columns of the members of a workspace. */
export function memberColumns({
  ownId,
  roleField,
}: MemberColumnsOptions): readonly [DataColumn<Member>, ...DataColumn<Member>[]] {
  return [
    {
      id: "name",
      label: "Name",
      order: "name",
      minWidth: 208,
      rank: 0,
      cell: ({ userId, kind, name, isDisabled, hasSecondFactor }) => (
        <span className={classes.person}>
          <span className={classes.name} title={name}>
            {name}
          </span>
          {userId === ownId && <Tag>You</Tag>}
          {kind === "service_account" && <Tag>Service account</Tag>}
          {isDisabled && <Tag>Disabled</Tag>}
          {hasSecondFactor === true && <Tag>Second factor</Tag>}
        </span>
      ),
    },
    {
      id: "email",
      label: "Email address",
      order: "email",
      minWidth: 180,
      isWide: true,
      isFoldable: true,
      grow: 2,
      rank: 2,
      cell: ({ email }) =>
        email === null ? (
          <EmptyCell />
        ) : (
          <span className={classes.email} title={email}>
            <EmailAddress address={email} />
          </span>
        ),
    },
    { id: "role", label: "Role", minWidth: 140, grow: 0, rank: 1, cell: roleField },
    {
      id: "joinedAt",
      label: "Joined",
      isTime: true,
      order: "joinedAt",
      minWidth: 116,
      grow: 0,
      rank: 3,
      cell: ({ joinedAt }) => <RelativeTime at={joinedAt} />,
    },
  ];
}
