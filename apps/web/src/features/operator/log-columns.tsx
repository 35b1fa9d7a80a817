import type { ReactElement } from "react";
import type { InstanceEvent } from "../../server/trpc.ts";
import type { DataColumn } from "../../ui/data-table.tsx";
import { EmptyCell } from "../../ui/empty-cell.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { RequestId } from "../../ui/request-id.tsx";
import classes from "./user-columns.module.css";

/** The columns of the instance log. */
export const logColumns: readonly [DataColumn<InstanceEvent>, ...DataColumn<InstanceEvent>[]] = [
  {
    id: "action",
    label: "Event",
    minWidth: 200,
    rank: 0,
    cell: ({ action }) => <Text text={action} />,
  },
  {
    id: "actor",
    label: "Operator",
    minWidth: 170,
    rank: 1,
    cell: (event) => <Text text={describeActor(event)} />,
  },
  {
    id: "subject",
    label: "User or workspace",
    minWidth: 180,
    isWide: true,
    rank: 2,
    cell: (event) => <Text text={describeSubject(event)} />,
  },
  {
    id: "change",
    label: "Change",
    minWidth: 160,
    isWide: true,
    rank: 4,
    cell: (event) => <Text text={describeChange(event)} />,
  },
  {
    id: "time",
    label: "Time",
    isTime: true,
    minWidth: 116,
    grow: 0,
    rank: 3,
    cell: ({ occurredAt }) => <RelativeTime at={occurredAt} />,
  },
  {
    id: "address",
    label: "IP address",
    minWidth: 136,
    grow: 0,
    rank: 5,
    cell: ({ address }) => <Text text={address ?? ""} />,
  },
  {
    id: "request",
    label: "Request ID",
    minWidth: 160,
    grow: 0,
    rank: 6,
    cell: ({ requestId }) => (requestId ? <RequestId requestId={requestId} /> : <EmptyCell />),
  },
];

function Text({ text }: { readonly text: string }): ReactElement {
  if (text === "") return <EmptyCell />;
  return (
    <bdi className={classes.text} title={text}>
      {text}
    </bdi>
  );
}

const actorNames = {
  session: "A deleted account",
  key: "An API key",
  command: "The latchkey command",
  configuration: "The configuration",
} as const satisfies Record<InstanceEvent["actor"]["kind"], string>;

/** The email address at the time of the event. */
function describeActor({ actor }: InstanceEvent): string {
  return actor.email ?? actor.userId ?? actorNames[actor.kind];
}

function describeSubject({ user, workspace }: InstanceEvent): string {
  const names = [user && (user.email ?? user.id), workspace && (workspace.name ?? workspace.id)];
  return names.filter((name) => name !== null).join(" in ");
}

/** The changed values, such as "registration: open → closed". */
function describeChange({ before, after }: InstanceEvent): string {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...names]
    .map((name) => {
      const values = [before?.[name], after?.[name]].filter((value) => value !== undefined);
      return `${name}: ${values.map(String).join(" → ")}`;
    })
    .join(", ");
}
