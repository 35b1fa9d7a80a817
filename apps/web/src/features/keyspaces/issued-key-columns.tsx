import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { IssuedKey } from "../../server/trpc.ts";
import { formatCount } from "../../ui/count.ts";
import type { DataColumn } from "../../ui/data-column.ts";
import { EmptyCell } from "../../ui/empty-cell.tsx";
import { ExpiryDate } from "../../ui/expiry-date.tsx";
import { titleOfKey } from "../../ui/issued-key-title.ts";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { ConsumerLink } from "./consumer-link.tsx";
import { IssuedKeyStatus } from "./issued-key-status.tsx";
import { describeSecret } from "./keyspace-status.ts";
import classes from "./keyspaces.module.css";
import { RecentUses, RecentVerifications } from "./recent-usage.tsx";

/** The columns of the keys of a keyspace. */
export function issuedKeyColumns(slug: string): readonly [DataColumn<IssuedKey>, ...DataColumn<IssuedKey>[]] {
  return [
    {
      id: "name",
      label: "Key",
      order: "name",
      minWidth: 176,
      grow: 2,
      rank: 0,
      cell: (issuedKey) => <Name slug={slug} issuedKey={issuedKey} />,
    },
    {
      id: "status",
      label: "Status",
      minWidth: 164,
      grow: 0,
      rank: 1,
      cell: (issuedKey) => <IssuedKeyStatus issuedKey={issuedKey} />,
    },
    {
      id: "consumer",
      label: "Consumer",
      minWidth: 128,
      rank: 2,
      // About what fits into half of a card in the narrowest window.
      isWide: ({ externalId }) => externalId !== null && externalId.length > 16,
      cell: ({ keyspaceId, externalId }) =>
        externalId === null ? (
          <EmptyCell />
        ) : (
          <ConsumerLink
            className={`${classes.quiet} ${classes.externalId}`}
            {...{ slug, keyspaceId, externalId }}
          />
        ),
    },
    {
      id: "permissions",
      label: "Permissions",
      minWidth: 160,
      isWide: true,
      rank: 7,
      cell: ({ permissions }) => {
        const text = permissions.join(", ");
        return text === "" ? (
          <EmptyCell />
        ) : (
          <span className={classes.mono} title={text}>
            {text}
          </span>
        );
      },
    },
    {
      id: "credits",
      label: "Credits",
      minWidth: 100,
      grow: 0,
      isNumeric: true,
      rank: 8,
      isHiddenByDefault: true,
      cell: ({ credits }) => (credits ? formatCount(credits.remaining) : "Unlimited"),
    },
    {
      id: "lastUsedAt",
      label: "Last used",
      isTime: true,
      minWidth: 120,
      grow: 0,
      rank: 3,
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? "Never" : <RelativeTime at={lastUsedAt} />),
    },
    {
      id: "recentUses",
      label: "Uses (30 days)",
      minWidth: 124,
      grow: 0,
      isNumeric: true,
      rank: 4,
      cell: ({ id }) => <RecentUses id={id} />,
    },
    {
      id: "verifications",
      label: "Verifications (30 days)",
      minWidth: 185,
      grow: 0,
      rank: 5,
      cell: ({ id }) => <RecentVerifications id={id} />,
    },
    {
      id: "usageCount",
      label: "Total uses",
      minWidth: 100,
      grow: 0,
      isNumeric: true,
      rank: 9,
      isHiddenByDefault: true,
      cell: ({ usageCount }) => formatCount(usageCount),
    },
    {
      id: "expiresAt",
      label: "Expires",
      isTime: true,
      order: "expiresAt",
      minWidth: 128,
      grow: 0,
      rank: 10,
      isHiddenByDefault: true,
      cell: ({ expiresAt }) => <ExpiryDate at={expiresAt} />,
    },
    {
      id: "createdAt",
      label: "Created",
      isTime: true,
      order: "createdAt",
      minWidth: 120,
      grow: 0,
      rank: 6,
      cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
    },
  ];
}

interface NameProps {
  readonly slug: string;
  readonly issuedKey: IssuedKey;
}

function Name({ slug, issuedKey }: NameProps): ReactElement {
  const { id, keyspaceId, name } = issuedKey;
  const params = { slug, keyspaceId, keyId: id };
  return (
    <>
      <Link
        className={name === "" ? `${classes.name} ${classes.mono}` : classes.name}
        title={name || undefined}
        to="/w/$slug/keyspaces/$keyspaceId/keys/$keyId"
        params={params}
      >
        {titleOfKey(issuedKey)}
      </Link>
      {name !== "" && (
        <code className={`${classes.second} ${classes.mono}`}>{describeSecret(issuedKey)}</code>
      )}
    </>
  );
}
