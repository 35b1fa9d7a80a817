import { describeLimit } from "../ui/describe-limits.ts";
import { describeExactly } from "../ui/elapsed.ts";
import type { Piece } from "../ui/event-sentence.tsx";
import { type DescribeDetail, listTexts, quote } from "./describe-details.ts";
import { describeOverlap } from "./describe-overlap.ts";
import type { AuditEvent, KeySettings, SecurityEvent } from "./trpc.ts";

type KeyAction = Extract<AuditEvent["action"], `key.${string}`>;

export function isKeyAction(action: AuditEvent["action"] | SecurityEvent["action"]): action is KeyAction {
  return action.startsWith("key.");
}

/**
 * A change to an API key, in the audit log of a workspace or the security log of the key's owner.
 */
export interface KeyEvent extends Pick<AuditEvent, "before" | "after"> {
  readonly action: KeyAction;
  /** The current name; null for a purged key. */
  readonly name: string | null;
  /** The name of the key's owner; undefined if the owner made the change. */
  readonly owner?: string | undefined;
  /** Names by ID. A workspace without a name here is shown by its ID. */
  readonly workspaceNames?: ReadonlyMap<string, string>;
}

/** What happened to an API key, as the rest of a sentence that begins with the actor. */
export function describeKeyEvent(event: KeyEvent): readonly Piece[] {
  const { action, name, owner, before, workspaceNames } = event;
  const after = workspaceNames ? nameWorkspaces(event.after, workspaceNames) : event.after;
  const key = quote(after?.name ?? before?.name ?? name ?? "a deleted key");
  /** The beginning of a sentence, up to the name of the key. */
  const begin = (start: string, noun = "API key"): readonly Piece[] =>
    owner === undefined ? [`${start} the ${noun} `] : [`${start} `, { name: owner }, `’s ${noun} `];
  switch (action) {
    case "key.created":
      return [...begin("created"), key, ...describeSettings(after, { isNew: true })];
    case "key.renamed":
      return [...begin("renamed"), quote(before?.name), " to ", quote(after?.name)];
    case "key.restricted":
      return [...begin("restricted"), key, ...describeSettings(after)];
    case "key.expanded":
      return [...begin("expanded the access of"), key, ...describeSettings(after)];
    case "key.disabled":
      return [...begin("disabled"), key];
    case "key.enabled":
      return [...begin("enabled"), key];
    case "key.rotated":
      return [...begin("rotated"), key, describeOverlap(after?.overlapSeconds)];
    case "key.secret-reissued":
      return [...begin("replaced the unused secret of"), key];
    case "key.former-secrets-revoked":
      return [...begin("revoked the old secrets of"), key];
    case "key.deleted":
      return [...begin("deleted"), key];
    case "key.blocked":
      return [...begin("blocked"), key, " from the workspace"];
    case "key.unblocked":
      return [...begin("unblocked", before?.isIdle === true ? "idle API key" : "API key"), key];
    default:
      return [action satisfies never];
  }
}

/**
 * How each setting is described, in this order. Settings that are unknown to this version are
 * omitted.
 */
const settingTexts: Readonly<Record<Exclude<keyof KeySettings, "isDisabled">, DescribeDetail>> &
  Readonly<Record<string, DescribeDetail>> = {
  isReadOnly: (is) => (is === true ? "read only" : "read and write"),
  permissions: (names) => (typeof names === "string" ? `permissions: ${names}` : "all permissions"),
  workspaces: (which) => (which === "all" ? "all workspaces" : "selected workspaces"),
  canReachWorkspace: (can) => (can === true ? "can reach this workspace" : "can’t reach this workspace"),
  workspaceIds: (ids) =>
    typeof ids === "string" ? `workspaces: ${ids}` : "all workspaces, including future ones",
  ipRanges: (ranges) => (typeof ranges === "string" ? `IP ranges: ${ranges}` : "any IP address"),
  limit: (limit) => (typeof limit === "string" ? describeStoredLimit(limit) : "no rate limit"),
  expiresAt: (time) =>
    typeof time === "string" ? `expires ${describeExactly(new Date(time))}` : "never expires",
};

/** Replaces the workspace IDs, which are stored like "ws_1, ws_2", by names. */
function nameWorkspaces(
  details: AuditEvent["after"],
  names: ReadonlyMap<string, string>,
): AuditEvent["after"] {
  const { workspaceIds } = details ?? {};
  if (typeof workspaceIds !== "string") return details;
  const shown = workspaceIds.split(", ").map((id) => {
    const name = names.get(id);
    return name === undefined ? id : `“${name}”`;
  });
  return { ...details, workspaceIds: shown.join(", ") };
}

/** A rate limit is stored like "100/60s". */
function describeStoredLimit(limit: string): string {
  const [, quota, seconds] = /^(\d+)\/(\d+)s$/.exec(limit) ?? [];
  if (quota === undefined || seconds === undefined) return `rate limit: ${limit}`;
  return `rate limit: ${describeLimit({ quota: Number(quota), windowSeconds: Number(seconds) })}`;
}

function describeSettings(details: AuditEvent["after"], { isNew = false } = {}): readonly Piece[] {
  const pieces = listTexts(settingTexts, details);
  return pieces.length === 0 && isNew ? [" without restrictions"] : pieces;
}
