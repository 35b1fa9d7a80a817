import type { KeyRejection } from "../../server/trpc.ts";
import type { DataColumn } from "../../ui/data-column.ts";
import { ipAddressColumn, requestColumn, sentenceColumn, timeColumn } from "../../ui/event-columns.tsx";
import classes from "./key-page.module.css";

/** The columns of the rejected and rate-limited requests with a key. */
export const rejectionColumns: readonly [DataColumn<KeyRejection>, ...DataColumn<KeyRejection>[]] = [
  {
    id: "target",
    label: "Request",
    minWidth: 200,
    grow: 1,
    rank: 0,
    cell: ({ method, path }) => (
      <code className={classes.request}>
        {method} {path}
      </code>
    ),
  },
  sentenceColumn({ id: "reason", label: "Reason", minWidth: 220, rank: 1 }, ({ explanation }) => [
    explanation,
  ]),
  timeColumn(2),
  ipAddressColumn(4),
  requestColumn(3, { isExplained: true }),
];
