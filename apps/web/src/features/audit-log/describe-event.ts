import { isRole, withArticle } from "../../server/roles.ts";
import type { AuditEvent } from "../../server/trpc.ts";

/** A piece of a sentence: words of ours, or a name that somebody gave. */
export type Piece = string | { readonly name: string };

/** What happened, as the rest of a sentence that begins with who did it. */
export function describeEvent(event: AuditEvent): readonly Piece[] {
  const { action, actor, target, before, after } = event;
  const isOwn = actor.userId === target.id;
  const person: Piece = { name: target.name ?? target.id };
  switch (action) {
    case "workspace.created":
      return ["created the workspace ", quote(after?.name)];
    case "workspace.renamed":
      return ["renamed the workspace from ", quote(before?.name), " to ", quote(after?.name)];
    case "workspace.description-changed":
      return ["changed the description of the workspace"];
    case "member.added":
      return ["added ", person, ` as ${role(after?.role)}`];
    case "member.role-changed": {
      const change = ` role from ${text(before?.role)} to ${text(after?.role)}`;
      return isOwn ? [`changed their own${change}`] : ["changed ", person, `’s${change}`];
    }
    case "member.removed":
      return isOwn
        ? [`left the workspace; was ${role(before?.role)}`]
        : ["removed ", person, `, who was ${role(before?.role)}`];
    default:
      return [action satisfies never];
  }
}

type Detail = string | number | boolean | null | undefined;

function text(detail: Detail): string {
  return detail === undefined || detail === null ? "unknown" : String(detail);
}

function role(detail: Detail): string {
  return isRole(detail) ? withArticle(detail) : text(detail);
}

function quote(detail: Detail): Piece {
  return { name: `“${text(detail)}”` };
}

/** Who made a change: a person, or nobody by name. */
export function describeActor({ actor }: AuditEvent): string {
  if (actor.kind === "command") return "The operator’s command";
  return actor.name ?? actor.userId ?? "Somebody";
}
