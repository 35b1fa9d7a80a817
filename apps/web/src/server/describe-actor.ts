import type { NamedUser } from "../ui/owner-name.tsx";
import type { AuditEvent } from "./trpc.ts";

interface ActedEvent {
  readonly actor: Pick<AuditEvent["actor"], "kind" | "name" | "userKind"> & {
    readonly userId?: AuditEvent["actor"]["userId"];
  };
}

/** Who made a change: a user, the `latchkey` command, or Latchkey itself. */
export function describeActor({ actor }: ActedEvent): NamedUser {
  if (actor.kind === "command") return { name: "The latchkey command", kind: null };
  if (actor.kind === "system") return { name: "Latchkey", kind: null };
  return { name: actor.name ?? actor.userId ?? "Someone", kind: actor.userKind };
}
