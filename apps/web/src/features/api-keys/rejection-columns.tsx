import type { KeyRejection } from "../../server/trpc.ts";
import type { DataColumn } from "../../ui/data-column.ts";
import { ipAddressColumn, requestColumn, sentenceColumn, timeColumn } from "../../ui/event-columns.tsx";
import classes from "./key-page.module.css";

type Columns = readonly [DataColumn<KeyRejection>, ...DataColumn<KeyRejection>[]];

const columns: Columns = [
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
];

/** The columns of the rejected and rate-limited requests with one of the user's own keys. */
export const ownRejectionColumns: Columns = [...columns, requestColumn(3, { isExplained: true })];

/** The same for a key of a service account. The page of a request explains only those with the user's own keys. */
export const serviceRejectionColumns: Columns = [...columns, requestColumn(3)];
