import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { WorkspaceKey } from "../../server/trpc.ts";
import { countOf, formatCount } from "../../ui/count.ts";
import type { DataColumn } from "../../ui/data-column.ts";
import { describeLimit, describePermissions } from "../../ui/describe-limits.ts";
import { violationTitles } from "../../ui/describe-violation.ts";
import { EmptyCell } from "../../ui/empty-cell.tsx";
import { ExpiryDate } from "../../ui/expiry-date.tsx";
import { hasKeyPage } from "../../ui/has-key-page.ts";
import { describeStatus } from "../../ui/key-status.ts";
import { LastUseHour } from "../../ui/last-use-hour.tsx";
import { nameOwner } from "../../ui/owner-name.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { StatusBadges } from "../../ui/status-badge.tsx";
import { useNow } from "../../ui/use-now.ts";
import classes from "./workspace-keys.module.css";

/** The columns of a workspace's API keys. */
export function workspaceKeyColumns(
  ownId: string,
): readonly [DataColumn<WorkspaceKey>, ...DataColumn<WorkspaceKey>[]] {
  return [
    {
      id: "name",
      label: "Name",
      order: "name",
      minWidth: 186,
      grow: 2,
      rank: 0,
      cell: (key) => (
        <>
          {hasKeyPage(key, ownId) ? (
            <Link
              className={classes.name}
              to="/account/api-keys/$keyId"
              params={{ keyId: key.id }}
              title={key.name}
            >
              {key.name}
            </Link>
          ) : (
            <span className={classes.name} title={key.name}>
              {key.name}
            </span>
          )}{" "}
          <code className={classes.start}>{key.start}…</code>
        </>
      ),
    },
    {
      id: "status",
      label: "Status",
      minWidth: 160,
      grow: 0,
      rank: 1,
      cell: (key) => <Status apiKey={key} />,
    },
    {
      id: "owner",
      label: "Owner",
      order: "owner",
      minWidth: 120,
      rank: 2,
      cell: ({ owner }) => (
        // One text, so that an ellipsis can end it.
        <bdi title={owner.email ?? undefined}>{owner.id === ownId ? "You" : nameOwner(owner)}</bdi>
      ),
    },
    {
      id: "restrictions",
      label: "Restrictions",
      minWidth: 132,
      isWide: true,
      rank: 7,
      cell: (key) => {
        const restrictions = describeRestrictions(key);
        return restrictions.length === 0 ? (
          <EmptyCell />
        ) : (
          <span title={restrictions.join("; ")}>{restrictions.join("; ")}</span>
        );
      },
    },
    {
      id: "expiresAt",
      label: "Expires",
      isTime: true,
      order: "expiresAt",
      minWidth: 118,
      grow: 0,
      rank: 4,
      cell: ({ expiresAt }) => <ExpiryDate at={expiresAt} />,
    },
    {
      id: "lastUsedAt",
      label: "Last used here",
      isTime: true,
      order: "lastUsedAt",
      minWidth: 142,
      grow: 0,
      rank: 3,
      cell: ({ lastUsedAt }) =>
        lastUsedAt === null ? "Not recently" : <LastUseHour startsAt={lastUsedAt} isFirst />,
    },
    {
      id: "recentUses",
      label: "Uses (30 days)",
      order: "recentUses",
      minWidth: 124,
      grow: 0,
      isNumeric: true,
      rank: 6,
      cell: ({ recentUses }) => formatCount(recentUses),
    },
    {
      id: "createdAt",
      label: "Created",
      isTime: true,
      order: "createdAt",
      minWidth: 112,
      grow: 0,
      rank: 8,
      isHiddenByDefault: true,
      cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
    },
  ];
}

function Status({ apiKey }: { readonly apiKey: WorkspaceKey }): ReactElement {
  const now = useNow();
  const statuses = describeStatus({ ...apiKey, isOwnerDisabled: apiKey.owner.isDisabled }, now);
  return (
    <span title={describeRejectionHere(apiKey)}>
      <StatusBadges statuses={statuses} />
    </span>
  );
}

/** Why the workspace rejects the key. */
function describeRejectionHere({
  isBlocked,
  blockedByName,
  blockedByKind,
  violation,
}: WorkspaceKey): string | undefined {
  if (isBlocked) {
    const blocker =
      blockedByName === null ? undefined : nameOwner({ name: blockedByName, kind: blockedByKind });
    return `Blocked by ${blocker ?? "the operator or a former member"}`;
  }
  return violation ? `Rejected by the workspace: ${violationTitles[violation]}` : undefined;
}

/** The restrictions of a key, in a few words each. */
function describeRestrictions(key: WorkspaceKey): readonly string[] {
  const { hasSelectedWorkspaces, permissions, isReadOnly, ipRanges, limit } = key;
  return [
    ...(isReadOnly ? ["Read only"] : []),
    ...(permissions ? [describePermissions(permissions)] : []),
    ...(hasSelectedWorkspaces ? ["Selected workspaces"] : []),
    ...(ipRanges ? [countOf(ipRanges.length, "IP range", "IP ranges")] : []),
    ...(limit ? [describeLimit(limit)] : []),
  ];
}
