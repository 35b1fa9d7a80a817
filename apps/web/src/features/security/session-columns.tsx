import type { ListedSession } from "../../server/trpc.ts";
import type { DataColumn } from "../../ui/data-column.ts";
import { ipAddressColumn } from "../../ui/event-columns.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { Tag } from "../../ui/tag.tsx";
import { describeDevice } from "./describe-device.ts";
import classes from "./security-page.module.css";

/** The columns of the user's sessions. */
export const sessionColumns: readonly [DataColumn<ListedSession>, ...DataColumn<ListedSession>[]] = [
  {
    id: "device",
    label: "Device",
    order: "device",
    minWidth: 200,
    grow: 2,
    rank: 0,
    cell: ({ device, isCurrent }) => (
      <span className={classes.device}>
        {describeDevice(device)}
        {isCurrent && <Tag>This session</Tag>}
      </span>
    ),
  },
  ipAddressColumn(2),
  {
    id: "lastUsedAt",
    label: "Last used",
    order: "lastUsedAt",
    isTime: true,
    minWidth: 112,
    rank: 1,
    cell: ({ lastUsedAt }) => <RelativeTime at={lastUsedAt} />,
  },
  {
    id: "createdAt",
    label: "Signed in",
    order: "createdAt",
    isTime: true,
    minWidth: 112,
    rank: 3,
    cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
  },
];
