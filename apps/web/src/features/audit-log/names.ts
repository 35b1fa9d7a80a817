import type { AuditEvent, Member } from "../../server/trpc.ts";

/** What people are called, by their ids. */
export type Names = ReadonlyMap<string, string>;

/** Names of members and of who made a change; the address of who was removed, where that is all that is known. */
export function collectNames(
  events: readonly AuditEvent[],
  members: readonly Pick<Member, "userId" | "name">[],
): Names {
  const names = new Map<string, string>();
  for (const { action, target, before } of events) {
    const address = before?.email;
    if (action === "member.removed" && typeof address === "string") names.set(target.id, address);
  }
  for (const { actor } of events) {
    if (actor.userId !== null && actor.name !== null) names.set(actor.userId, actor.name);
  }
  for (const { userId, name } of members) names.set(userId, name);
  return names;
}
