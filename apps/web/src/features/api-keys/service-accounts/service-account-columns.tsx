import { Link } from "@tanstack/react-router";
import { roleTitles } from "../../../server/roles.ts";
import type { Member } from "../../../server/trpc.ts";
import type { DataColumn } from "../../../ui/data-column.ts";
import { RelativeTime } from "../../../ui/relative-time.tsx";
import { Tag } from "../../../ui/tag.tsx";
import classes from "../api-key-columns.module.css";

/** The columns of the service accounts of a workspace. */
export function serviceAccountColumns(slug: string): readonly [DataColumn<Member>, ...DataColumn<Member>[]] {
  return [
    {
      id: "name",
      label: "Name",
      order: "name",
      minWidth: 200,
      grow: 2,
      rank: 0,
      cell: ({ userId, name, isDisabled }) => (
        <>
          <Link
            className={classes.name}
            title={name}
            to="/w/$slug/members/service-accounts/$userId"
            params={{ slug, userId }}
          >
            {name}
          </Link>{" "}
          {isDisabled && <Tag>Disabled</Tag>}
        </>
      ),
    },
    { id: "role", label: "Role", minWidth: 96, rank: 1, cell: ({ role }) => roleTitles[role] },
    {
      id: "createdAt",
      label: "Created",
      order: "joinedAt",
      isTime: true,
      minWidth: 116,
      grow: 0,
      rank: 2,
      cell: ({ joinedAt }) => <RelativeTime at={joinedAt} />,
    },
  ];
}
