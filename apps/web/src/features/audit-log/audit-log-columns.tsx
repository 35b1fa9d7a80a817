import type { ReactElement } from "react";
import { describeActor } from "../../server/describe-actor.ts";
import { describeEvent } from "../../server/describe-event.ts";
import type { AuditEvent } from "../../server/trpc.ts";
import type { DataColumn } from "../../ui/data-column.ts";
import { ipAddressColumn, requestColumn, sentenceColumn, timeColumn } from "../../ui/event-columns.tsx";
import { OwnerName } from "../../ui/owner-name.tsx";
import classes from "./audit-log-columns.module.css";

/** The columns of the audit log of a workspace. */
export const auditLogColumns: readonly [DataColumn<AuditEvent>, ...DataColumn<AuditEvent>[]] = [
  {
    id: "who",
    label: "Actor",
    minWidth: 172,
    grow: 0,
    rank: 0,
    cell: (event) => <ActorCell event={event} />,
  },
  sentenceColumn({ id: "what", label: "What", minWidth: 220, rank: 1 }, describeEvent),
  timeColumn(2),
  ipAddressColumn(3),
  requestColumn(4),
];

function ActorCell({ event }: { readonly event: AuditEvent }): ReactElement {
  const { keyId } = event.actor;
  return (
    <span className={classes.who}>
      <span>
        <OwnerName {...describeActor(event)} />
      </span>
      {keyId && (
        <span className={classes.via} title={keyId}>
          via key <code className={classes.mono}>{keyId}</code>
        </span>
      )}
    </span>
  );
}
