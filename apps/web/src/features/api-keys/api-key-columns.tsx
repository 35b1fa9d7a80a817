import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { ListedApiKey } from "../../server/trpc.ts";
import { countOf, formatCount } from "../../ui/count.ts";
import type { DataColumn } from "../../ui/data-column.ts";
import { describeLimit, describePermissions } from "../../ui/describe-limits.ts";
import { EmptyCell } from "../../ui/empty-cell.tsx";
import { ExpiryDate } from "../../ui/expiry-date.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import classes from "./api-key-columns.module.css";
import { KeyStatusBadges } from "./key-status-badges.tsx";

/** The columns of the user's API keys. */
export const apiKeyColumns: readonly [DataColumn<ListedApiKey>, ...DataColumn<ListedApiKey>[]] = [
  {
    id: "name",
    label: "Name",
    order: "name",
    minWidth: 200,
    grow: 2,
    rank: 0,
    cell: (apiKey) => <Name apiKey={apiKey} />,
  },
  {
    id: "status",
    label: "Status",
    minWidth: 164,
    grow: 0,
    rank: 1,
    cell: (apiKey) => <KeyStatusBadges apiKey={apiKey} />,
  },
  {
    id: "start",
    label: "Key",
    minWidth: 124,
    grow: 0,
    rank: 5,
    cell: ({ start }) => <code className={classes.start}>{start}…</code>,
  },
  {
    id: "restrictions",
    label: "Restrictions",
    minWidth: 160,
    isWide: true,
    rank: 6,
    cell: (apiKey) => {
      const text = describeRestrictions(apiKey).join("; ");
      return text === "" ? <EmptyCell /> : <span title={text}>{text}</span>;
    },
  },
  {
    id: "expiresAt",
    label: "Expires",
    isTime: true,
    order: "expiresAt",
    minWidth: 128,
    grow: 0,
    rank: 4,
    cell: ({ expiresAt }) => <ExpiryDate at={expiresAt} />,
  },
  {
    id: "lastUsedAt",
    label: "Last used",
    isTime: true,
    order: "lastUsedAt",
    minWidth: 112,
    grow: 0,
    rank: 2,
    cell: ({ lastUsedAt }) => (lastUsedAt === null ? "Never" : <RelativeTime at={lastUsedAt} />),
  },
  {
    id: "usageCount",
    label: "Uses",
    order: "usageCount",
    minWidth: 92,
    grow: 0,
    isNumeric: true,
    rank: 3,
    cell: ({ usageCount }) => formatCount(usageCount),
  },
  {
    id: "createdAt",
    label: "Created",
    isTime: true,
    order: "createdAt",
    minWidth: 112,
    grow: 0,
    rank: 7,
    isHiddenByDefault: true,
    cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
  },
];

function Name({ apiKey }: { readonly apiKey: ListedApiKey }): ReactElement {
  const { id, name, description } = apiKey;
  return (
    <>
      <Link className={classes.name} title={name} to="/account/api-keys/$keyId" params={{ keyId: id }}>
        {name}
      </Link>
      {description && (
        <span className={classes.description} title={description}>
          {description}
        </span>
      )}
    </>
  );
}

/** The restrictions of a key, in a few words each. */
function describeRestrictions(apiKey: ListedApiKey): readonly string[] {
  const { workspaceIds, permissions, isReadOnly, ipRanges, limit } = apiKey;
  return [
    ...(isReadOnly ? ["Read only"] : []),
    ...(permissions ? [describePermissions(permissions)] : []),
    ...(workspaceIds ? [countOf(workspaceIds.length, "workspace", "workspaces")] : []),
    ...(ipRanges ? [countOf(ipRanges.length, "IP range", "IP ranges")] : []),
    ...(limit ? [describeLimit(limit)] : []),
  ];
}
