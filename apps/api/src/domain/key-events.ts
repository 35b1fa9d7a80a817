import { listExpanded } from "@latchkey/auth/restrictions";
import { openReachedWorkspaces } from "@latchkey/auth/workspace-access";
import type { Details, KeyAction, Origin } from "@latchkey/db/audit-actions";
import { appendAuditEvents } from "@latchkey/db/audit-events";
import { encodeId, type KeyId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import { defaultSettings, type KeySettings, type SettingName, settingNames } from "@latchkey/db/key-settings";
import type { Trx } from "@latchkey/db/schema";
import { appendSecurityEvents, findKeyChangeWait } from "@latchkey/db/security-events";
import { enterWorkspace } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import type { Quotas } from "./quotas.ts";

/** The facts about a key in an event. */
interface KeyFacts extends Partial<KeySettings> {
  readonly name?: string;
  /** How long the old secret stays valid. */
  readonly overlapSeconds?: number;
}

export interface KeyEvent {
  readonly action: KeyAction;
  readonly before?: KeyFacts;
  readonly after?: KeyFacts;
}

type NamedKey = KeySettings & { readonly name: string };

/** The event for a new key: its name and its restrictions. */
export function describeCreation(key: NamedKey): KeyEvent {
  const restrictions = settingNames.filter((name) => key[name] !== defaultSettings[name]);
  return { action: "key.created", after: { name: key.name, ...pick(key, restrictions) } };
}

/** The events for an edit of a key. Changes that don't expand its access restrict it. */
export function describeEdit(before: NamedKey, after: NamedKey): KeyEvent[] {
  const events: KeyEvent[] = [];
  if (before.name !== after.name)
    events.push({ action: "key.renamed", before: { name: before.name }, after: { name: after.name } });
  if (before.isDisabled !== after.isDisabled)
    events.push({ action: after.isDisabled ? "key.disabled" : "key.enabled" });
  const changed = settingNames.filter(
    (name) => name !== "isDisabled" && JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  );
  const expanding = new Set(listExpanded(before, after));
  for (const [action, names] of [
    ["key.expanded", changed.filter((name) => expanding.has(name))],
    ["key.restricted", changed.filter((name) => !expanding.has(name))],
  ] as const) {
    if (names.length > 0) events.push({ action, before: pick(before, names), after: pick(after, names) });
  }
  return events;
}

function pick(settings: KeySettings, names: readonly SettingName[]): Partial<KeySettings> {
  return Object.fromEntries(names.map((name) => [name, settings[name]]));
}

/**
 * Checks that the owner of a key may change keys again. The caller must hold a lock that prevents concurrent changes by
 * the same user. Disabling a key, revoking old secrets and deleting a key must always be possible, so they aren't
 * checked. Each of them needs an earlier change that is checked (creating, enabling or rotating a key), so they can't
 * be more frequent than those changes.
 * @throws {AppError} TOO_MANY_REQUESTS at the limit, with `Retry-After`. Each change adds an event to as many workspaces
 *   as the key can reach, so without a limit one user could fill the database.
 */
export async function requireKeyChangeQuota(
  trx: Trx,
  { userId, origin }: { readonly userId: UserId; readonly origin: Origin },
  { keyChangesPerHour }: Quotas,
): Promise<void> {
  if (origin.actor.kind === "command") return;
  const retryAfterSeconds = await findKeyChangeWait(trx, userId, keyChangesPerHour);
  if (retryAfterSeconds === 0) return;
  const minutes = Math.ceil(retryAfterSeconds / 60);
  throw new AppError("TOO_MANY_REQUESTS", {
    message: [
      "You have reached the limit of ",
      { count: keyChangesPerHour },
      ` changes to API keys per hour. Try again in ${minutes} ${minutes === 1 ? "minute" : "minutes"}. You can still disable and delete keys, and revoke old secrets.`,
    ],
    retryAfterSeconds,
  });
}

/**
 * Records changes to a key in the security log of its owner and in the audit log of each workspace that the key can
 * reach. Call it before `bumpKeyVersions`, which locks rows that the deletion of a workspace locks after the
 * workspace.
 * @param key.reach the workspaces of the key before and after the change; null for all of its owner's.
 */
export async function recordKeyEvents(
  trx: Trx,
  key: {
    readonly userId: UserId;
    readonly id: KeyId;
    readonly origin: Origin;
    readonly reach: readonly KeySettings["workspaceIds"][];
  },
  events: readonly KeyEvent[],
): Promise<void> {
  const { userId, id, origin, reach } = key;
  await recordEventsOfKeys(
    trx,
    { userId, origin },
    events.map((event) => ({ id, reach, event })),
  );
}

/**
 * Records one event for each of several keys of one user, like {@link recordKeyEvents}. Executes the same number of
 * statements for any number of events: one that inserts into the security log, and two per workspace, which enter it and
 * insert into its audit log. Row-level security allows no statement that inserts into several workspaces.
 */
async function recordEventsOfKeys(
  trx: Trx,
  { userId, origin }: { readonly userId: UserId; readonly origin: Origin },
  changes: readonly {
    readonly id: KeyId;
    readonly reach: readonly KeySettings["workspaceIds"][];
    readonly event: KeyEvent;
  }[],
): Promise<void> {
  if (changes.length === 0) return;
  const securityEvents = changes.map(({ id, event: { action, before, after } }) => ({
    ...{ userId, keyId: id, action },
    before: before && toDetails(before),
    after: after && toDetails(after),
  }));
  await appendSecurityEvents(trx, origin, securityEvents);
  const reach = changes.flatMap((change) => change.reach);
  const workspaceIds = reach.includes(null) ? null : [...new Set(reach.flatMap((ids) => ids ?? []))];
  for (const scope of await openReachedWorkspaces(trx, { ownerId: userId, workspaceIds })) {
    const { workspaceId } = scope;
    const workspaceTrx = await enterWorkspace(trx, scope);
    const reaching = changes.filter((change) =>
      change.reach.some((ids) => ids?.includes(workspaceId) ?? true),
    );
    const audited = reaching.map(({ id, event: { action, before, after } }) => ({
      ...{ action, targetId: id },
      ...(before && { before: toDetails(before, workspaceId) }),
      ...(after && { after: toDetails(after, workspaceId) }),
    }));
    await appendAuditEvents(workspaceTrx, scope, origin, audited);
  }
}

/**
 * Records the deletion of several keys of one user, like {@link recordKeyEvents}, with the same number of statements for any number
 * of keys.
 */
export async function recordDeletionOfKeys(
  trx: Trx,
  by: { readonly userId: UserId; readonly origin: Origin },
  keys: readonly {
    readonly id: KeyId;
    readonly name: string;
    readonly workspaceIds: KeySettings["workspaceIds"];
  }[],
): Promise<void> {
  const deletions = keys.map(({ id, name, workspaceIds }) => ({
    ...{ id, reach: [workspaceIds] },
    event: { action: "key.deleted", before: { name } } as const,
  }));
  await recordEventsOfKeys(trx, by, deletions);
}

/**
 * Formats an event's facts for storage.
 * @param workspaceId the workspace of the audit log; undefined for the owner's security log. A workspace's log says
 *   whether the key can reach this workspace, but not which others it can reach. It has only the first IP ranges,
 *   because a change is recorded in every workspace that the key can reach, and would otherwise take 9 KB in each.
 */
function toDetails({ workspaceIds, ...facts }: KeyFacts, workspaceId?: WorkspaceId): Details {
  const { name, overlapSeconds, isDisabled, expiresAt, permissions, isReadOnly, ipRanges, limit } = facts;
  const details = {
    name,
    overlapSeconds,
    isDisabled,
    expiresAt: expiresAt === null ? null : expiresAt?.toISOString(),
    permissions: joinItems(permissions),
    isReadOnly,
    ipRanges: joinItems(ipRanges, workspaceId ? maxListedRanges : undefined),
    limit: limit && `${limit.quota}/${limit.windowSeconds}s`,
    ...(workspaceIds === undefined ? {} : describeReach(workspaceIds, workspaceId)),
  } satisfies Readonly<Record<Exclude<SettingName, "workspaceIds">, Detail>> &
    Readonly<Record<string, Detail>>;
  return Object.fromEntries(
    Object.entries(details).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
}

type Detail = Details[string] | undefined;

/** The maximum number of IP ranges in an event of a workspace. */
const maxListedRanges = 10;

/** Keeps null, which means all. */
function joinItems(
  items: readonly string[] | null | undefined,
  maxItems = Number.POSITIVE_INFINITY,
): string | null | undefined {
  if (!items) return items;
  const omitted = items.length - maxItems;
  return omitted > 0 ? `${items.slice(0, maxItems).join(", ")} and ${omitted} more` : items.join(", ");
}

function describeReach(ids: KeySettings["workspaceIds"], workspaceId: WorkspaceId | undefined): Details {
  if (!workspaceId) {
    return { workspaceIds: ids?.map((id) => encodeId("workspace", id)).join(", ") ?? null };
  }
  return { workspaces: ids ? "selected" : "all", canReachWorkspace: ids?.includes(workspaceId) ?? true };
}
