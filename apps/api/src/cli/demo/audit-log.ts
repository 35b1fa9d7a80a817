import { type AuditAction, auditActions } from "@latchkey/db/audit-actions";
import { createId, type WorkspaceId } from "@latchkey/db/ids";
import type { PastRow } from "@latchkey/db/past-rows";
import type { DemoKey } from "./keys.ts";
import type { Person } from "./people.ts";
import type { Random } from "./random.ts";

/** What happens in a workspace, and how often. */
const weights = {
  "key.created": 20,
  "key.rotated": 14,
  "key.renamed": 5,
  "key.restricted": 8,
  "key.expanded": 5,
  "key.disabled": 5,
  "key.enabled": 4,
  "key.deleted": 8,
  "key.blocked": 1,
  "key.unblocked": 1,
  "member.role-changed": 6,
  "member.joined": 6,
  "member.removed": 3,
  "invitation.created": 7,
  "invitation.resent": 2,
  "invitation.revoked": 2,
  "workspace.description-changed": 1,
  "api-key-policy.changed": 1,
} as const satisfies Partial<Record<AuditAction, number>>;

type DemoAction = keyof typeof weights;

interface Workplace {
  readonly workspaceId: WorkspaceId;
  readonly people: readonly Person[];
  readonly keys: readonly DemoKey[];
  readonly now: Date;
}

/** Invents the events of a workspace, oldest first; the first one is its creation. */
export function createAuditEvents(
  random: Random,
  workplace: Workplace & { readonly name: string; readonly count: number },
): readonly PastRow<"audit_events">[] {
  const { workspaceId, people, now, name, count } = workplace;
  const [founder] = people;
  if (!founder) return [];
  const managers = people.filter(({ role }) => role === "owner" || role === "admin");
  const times = Array.from({ length: count - 1 }, () => random.time(founder.joinedAt, now));
  times.sort((a, b) => a.getTime() - b.getTime());
  const created = {
    ...placeOf(workspaceId, founder, founder.joinedAt),
    ...targetOf("workspace.created", workspaceId),
    before: null,
    after: { name },
  };
  return [
    created,
    ...times.map((time) => {
      const action = random.weighted<DemoAction>(weights);
      const key = random.pick(workplace.keys);
      const isOwn = action.startsWith("key.") && action !== "key.blocked" && action !== "key.unblocked";
      const person = random.pick(people);
      const actor = isOwn ? key.owner : action === "member.joined" ? person : random.pick(managers);
      return {
        ...placeOf(workspaceId, actor, time),
        ...describe(random, action, { workspaceId, key, person }),
      };
    }),
  ];
}

function placeOf(workspaceId: WorkspaceId, actor: Person, time: Date) {
  return {
    workspace_id: workspaceId,
    id: createId("auditEvent"),
    occurred_at: time,
    actor_kind: "session",
    actor_user_id: actor.id,
    address: actor.address,
  } as const;
}

function targetOf(action: AuditAction, id: string) {
  return { action, target_kind: auditActions[action], target_id: id };
}

/** The target of an action, and what changed. */
function describe(
  random: Random,
  action: DemoAction,
  { workspaceId, key, person }: { workspaceId: WorkspaceId; key: DemoKey; person: Person },
): Pick<PastRow<"audit_events">, "action" | "target_kind" | "target_id" | "before" | "after"> {
  const ofKey = targetOf(action, key.id);
  const { name } = key;
  switch (action) {
    case "key.created":
      return { ...ofKey, before: null, after: { name } };
    case "key.renamed":
      return { ...ofKey, before: { name: `${name} (old)` }, after: { name } };
    case "key.restricted":
      return { ...ofKey, before: { isReadOnly: false }, after: { isReadOnly: true } };
    case "key.expanded":
      return { ...ofKey, before: { isReadOnly: true }, after: { isReadOnly: false } };
    case "key.rotated":
      return { ...ofKey, before: null, after: { overlapSeconds: random.pick([0, 3_600, 86_400]) } };
    case "key.deleted":
      return { ...targetOf(action, createId("key")), before: { name }, after: null };
    case "member.role-changed":
      return { ...targetOf(action, person.id), before: { role: "viewer" }, after: { role: "member" } };
    case "member.joined":
      return { ...targetOf(action, person.id), before: null, after: { role: "member" } };
    case "member.removed":
      return { ...targetOf(action, person.id), before: { role: "member" }, after: null };
    case "invitation.created":
    case "invitation.resent":
      return {
        ...targetOf(action, createId("invitation")),
        before: null,
        after: { email: person.email, role: "member" },
      };
    case "invitation.revoked":
      return {
        ...targetOf(action, createId("invitation")),
        before: { email: person.email, role: "member" },
        after: null,
      };
    case "api-key-policy.changed":
      return { ...targetOf(action, workspaceId), before: { maxIdleDays: null }, after: { maxIdleDays: 180 } };
    case "workspace.description-changed":
      return { ...targetOf(action, workspaceId), before: null, after: null };
    default:
      return { ...ofKey, before: null, after: null };
  }
}
