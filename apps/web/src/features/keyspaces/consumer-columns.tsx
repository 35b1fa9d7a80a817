import type { Consumer } from "../../server/trpc.ts";
import { formatCount } from "../../ui/count.ts";
import type { DataColumn } from "../../ui/data-column.ts";
import { EmptyCell } from "../../ui/empty-cell.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { ConsumerLink } from "./consumer-link.tsx";
import classes from "./keyspaces.module.css";
import { describeNamedLimit } from "./limit-values.ts";

/** The columns of the consumers of a keyspace. */
export function consumerColumns(slug: string): readonly [DataColumn<Consumer>, ...DataColumn<Consumer>[]] {
  return [
    {
      id: "externalId",
      label: "External ID",
      order: "externalId",
      minWidth: 200,
      grow: 2,
      rank: 0,
      cell: ({ keyspaceId, externalId }) => (
        <ConsumerLink
          className={`${classes.name} ${classes.externalId}`}
          {...{ slug, keyspaceId, externalId }}
        />
      ),
    },
    {
      id: "keys",
      label: "Keys",
      minWidth: 92,
      grow: 0,
      isNumeric: true,
      rank: 1,
      cell: ({ keyCount }) => formatCount(keyCount),
    },
    {
      id: "activeKeys",
      label: "Active keys",
      minWidth: 112,
      grow: 0,
      isNumeric: true,
      rank: 2,
      cell: ({ activeKeyCount }) => formatCount(activeKeyCount),
    },
    {
      id: "limits",
      label: "Shared rate limits",
      minWidth: 184,
      isWide: true,
      rank: 5,
      cell: ({ limits }) => {
        const text = limits.map(describeNamedLimit).join(", ");
        return text === "" ? <EmptyCell /> : <span title={text}>{text}</span>;
      },
    },
    {
      id: "usageCount",
      label: "Uses",
      minWidth: 92,
      grow: 0,
      isNumeric: true,
      rank: 3,
      cell: ({ usageCount }) => formatCount(usageCount),
    },
    {
      id: "lastUsedAt",
      label: "Last used",
      isTime: true,
      minWidth: 120,
      grow: 0,
      rank: 4,
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? "Never" : <RelativeTime at={lastUsedAt} />),
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
