import type { ReactElement } from "react";
import type { InstanceEvent } from "../../server/trpc.ts";
import type { DataColumn } from "../../ui/data-column.ts";
import { EmptyCell } from "../../ui/empty-cell.tsx";
import eventClasses from "../../ui/event-columns.module.css";
import { ipAddressColumn, requestColumn, timeColumn } from "../../ui/event-columns.tsx";
import { instanceActionTitles } from "./instance-action-titles.ts";

/** The columns of the instance log. */
export const logColumns: readonly [DataColumn<InstanceEvent>, ...DataColumn<InstanceEvent>[]] = [
  {
    id: "action",
    label: "Event",
    minWidth: 200,
    grow: 0,
    rank: 0,
    cell: ({ action }) => <Text text={instanceActionTitles[action] ?? action} />,
  },
  {
    id: "actor",
    label: "Actor",
    minWidth: 170,
    grow: 1,
    rank: 1,
    cell: (event) => <Text text={describeActor(event)} />,
  },
  {
    id: "subject",
    label: "Target",
    minWidth: 200,
    isWide: true,
    grow: 2,
    rank: 2,
    cell: (event) => <Text text={describeSubject(event)} />,
  },
  {
    id: "change",
    label: "Change",
    minWidth: 180,
    isWide: true,
    grow: 2,
    rank: 4,
    cell: (event) => <Text text={describeChange(event)} />,
  },
  timeColumn(3),
  ipAddressColumn(5),
  requestColumn(6),
];

function Text({ text }: { readonly text: string }): ReactElement {
  if (text === "") return <EmptyCell />;
  return <bdi className={eventClasses.sentence}>{text}</bdi>;
}

const actorNames = {
  session: "A deleted account",
  key: "An API key",
  command: "latchkey command",
  configuration: "Configuration",
} as const satisfies Record<InstanceEvent["actor"]["kind"], string>;

/** The email address at the time of the event. */
function describeActor({ actor }: InstanceEvent): string {
  return actor.email ?? actor.userId ?? actorNames[actor.kind];
}

function describeSubject({ user, workspace }: InstanceEvent): string {
  const names = [user && (user.email ?? user.name ?? user.id), workspace && (workspace.name ?? workspace.id)];
  return names.filter((name) => name !== null).join(" in ");
}

/** The changed values, such as "registration: open to closed". */
function describeChange({ before, after }: InstanceEvent): string {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...names]
    .map((name) => {
      const values = [before?.[name], after?.[name]].filter((value) => value !== undefined);
      return `${name}: ${values.map(String).join(" to ")}`;
    })
    .join(", ");
}
