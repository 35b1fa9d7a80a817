import type { IssuedKeyRejection } from "../../server/trpc.ts";
import type { DataColumn } from "../../ui/data-column.ts";
import { ipAddressColumn, requestColumn, sentenceColumn, timeColumn } from "../../ui/event-columns.tsx";
import { outcomeTitle } from "../../ui/outcome-titles.ts";
import { describeCode, isCode } from "./describe-code.ts";

/** A rejected verification in the list, with the members that columns of events have. */
export interface ListedRejection extends Omit<IssuedKeyRejection, "clientIp"> {
  readonly address: string | null;
}

/** The columns of the rejected and rate-limited verifications of a key. */
export const issuedKeyRejectionColumns: readonly [
  DataColumn<ListedRejection>,
  ...DataColumn<ListedRejection>[],
] = [
  {
    id: "code",
    label: "Result",
    minWidth: 180,
    grow: 0,
    rank: 0,
    cell: ({ code }) => outcomeTitle(code),
  },
  sentenceColumn({ id: "reason", label: "Reason", minWidth: 300, rank: 1 }, ({ code }) => [explain(code)]),
  timeColumn(2),
  ipAddressColumn(3),
  requestColumn(4),
];

/** A code that is unknown to this version is returned as is. */
function explain(code: string): string {
  return isCode(code) ? describeCode(code).explanation : code;
}
