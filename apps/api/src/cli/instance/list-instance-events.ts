import { instanceActions } from "@latchkey/db/instance-actions";
import { z } from "zod";
import { readInstanceLog } from "../../domain/instance-log.ts";
import {
  instanceAction,
  type PresentedInstanceEvent,
  presentInstanceEvent,
} from "../../presenters/instance-event.ts";
import { formatTime } from "../format.ts";
import { listOf, type View } from "../result.ts";
import { defineTask } from "../task.ts";
import { time, userId, workspaceId } from "../values.ts";

export const listInstanceEventsTask = defineTask({
  input: z.strictObject({
    from: time.optional(),
    to: time.optional(),
    action: z.enum(instanceAction.options, `Expected one of ${instanceActions.join(", ")}.`).optional(),
    actor: userId.optional(),
    user: userId.optional(),
    workspace: workspaceId.optional(),
  }),
  perform: ({ db }, { actor, user, workspace, ...filter }) =>
    listOf(readInstanceLog(db, { ...filter, actorId: actor, userId: user, workspaceId: workspace }), {
      present: presentInstanceEvent,
      view,
      emptyText: "No events.",
    }),
});

const view: View<PresentedInstanceEvent> = [
  { label: "Time", text: ({ occurredAt }) => formatTime(occurredAt) },
  { label: "Action", text: ({ action }) => action },
  { label: "Actor", text: ({ actor }) => actor.email ?? actor.userId ?? actor.kind },
  { label: "IP address", text: ({ address }) => address ?? "" },
  { label: "User", text: ({ user }) => user?.email ?? user?.id ?? "" },
  { label: "Workspace", text: ({ workspace }) => workspace?.name ?? workspace?.id ?? "" },
];
