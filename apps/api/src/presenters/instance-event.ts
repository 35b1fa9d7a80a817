import { encodeId } from "@latchkey/db/ids";
import { type InstanceAction, instanceActions } from "@latchkey/db/instance-actions";
import type { InstanceEvent, LoggedUser } from "@latchkey/db/instance-events";
import { z } from "zod";

/** The actions in the instance log. */
export const instanceAction = z.enum(instanceActions as [InstanceAction, ...InstanceAction[]]); // It isn't empty.

export type PresentedInstanceEvent = ReturnType<typeof presentInstanceEvent>;

/** An event of the instance log, for tRPC and the command. */
export function presentInstanceEvent(event: InstanceEvent) {
  const { actor, user, workspace } = event;
  return {
    id: encodeId("instanceEvent", event.id),
    occurredAt: event.occurredAt.toISOString(),
    action: event.action,
    actor: {
      kind: event.actorKind,
      userId: actor && encodeId("user", actor.id),
      name: actor?.name ?? null,
      email: actor?.email ?? null,
    },
    user: user && presentLoggedUser(user),
    workspace: workspace && { id: encodeId("workspace", workspace.id), name: workspace.name },
    keyId: event.keyId && encodeId("key", event.keyId),
    before: event.before,
    after: event.after,
    address: event.address,
    requestId: event.requestId,
  };
}

function presentLoggedUser({ id, name, email }: LoggedUser) {
  return { id: encodeId("user", id), name, email };
}
