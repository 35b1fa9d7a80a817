import type { WorkspaceId } from "@latchkey/db/ids";
import { defaultSettings, type KeySettings, type SettingName, settingNames } from "@latchkey/db/key-settings";
import type { Role } from "@latchkey/db/role";
import { areContained, bytesPerIpRange, createIpMatcher } from "./ip-ranges.ts";
import { expandPermissions, listPermissions, type Permission, roleHasPermission } from "./permissions.ts";

/** The checks of one restriction of a key. A check that is absent allows everything. */
interface CompiledRule {
  /** The only workspaces that the key can access. */
  readonly workspaces?: ReadonlySet<WorkspaceId>;
  readonly permits?: (permission: Permission) => boolean;
  readonly allowsAddress?: (address: string) => boolean;
  /** The approximate memory of the checks, in bytes, if it grows with the value. */
  readonly bytes?: number;
}

/** The approximate memory of a workspace or a permission in a set, in bytes. */
const bytesPerName = 100;

/** The rules of one setting. */
interface Rule<Value> {
  /** Whether an edit expands what the key can do. */
  readonly expands: (before: Value, after: Value) => boolean;
  /** Compiles a value into checks. Absent if the database enforces the setting, by its clock and counters. */
  readonly compile?: (value: NonNullable<Value>) => CompiledRule;
}

/**
 * The rules of every setting of a key. A setting without rules does not compile. `key-settings.ts` of packages/db
 * declares how it is stored (docs/decisions/0033).
 */
const rules: { readonly [Name in SettingName]: Rule<KeySettings[Name]> } = {
  // Enforced as the key's fact `isDisabled`, which decides whether the key works at all.
  isDisabled: { expands: isLifted },
  // Enforced by the statement that counts a use.
  expiresAt: { expands: (before, after) => before !== null && (after === null || after > before) },
  workspaceIds: {
    expands: hasMore,
    compile: (ids) => ({ workspaces: new Set(ids), bytes: ids.length * bytesPerName }),
  },
  permissions: {
    // A permission that another one includes is not added by naming it.
    expands: (before, after) => hasMore(before && [...expandPermissions(before)], after),
    compile: (names) => {
      const allowed = expandPermissions(names);
      return { permits: (permission) => allowed.has(permission), bytes: allowed.size * bytesPerName };
    },
  },
  isReadOnly: {
    expands: isLifted,
    compile: () => ({ permits: (permission) => permission.endsWith(":read") }),
  },
  ipRanges: {
    expands: (before, after) => before !== null && (after === null || !areContained(before, after)),
    compile: (ranges) => ({
      allowsAddress: createIpMatcher(ranges),
      bytes: ranges.length * bytesPerIpRange,
    }),
  },
  // Enforced by the statement that counts a use.
  limit: {
    expands: (before, after) =>
      before !== null &&
      (after === null || after.quota > before.quota || after.windowSeconds < before.windowSeconds),
  },
};

function isLifted(before: boolean, after: boolean): boolean {
  return before && !after;
}

function hasMore(before: readonly string[] | null, after: readonly string[] | null): boolean {
  return before !== null && (after === null || !after.every((item) => before.includes(item)));
}

/** Lists the settings with which an edit expands what a key can do. */
export function listExpanded(before: KeySettings, after: KeySettings): readonly SettingName[] {
  const expands = <Name extends SettingName>(name: Name) =>
    // Most edits change one setting, and comparing ranges is the most expensive part of an edit.
    JSON.stringify(before[name]) !== JSON.stringify(after[name]) &&
    rules[name].expands(before[name], after[name]);
  return settingNames.filter((name) => expands(name));
}

/** All settings except `isDisabled`, which decides whether a key works, and not what it can do. */
type RestrictionName = Exclude<SettingName, "isDisabled">;

const restrictionNames = settingNames.filter((name): name is RestrictionName => name !== "isDisabled");

/**
 * Whether a key has any restriction, including expiry, IP ranges and rate limit. Such a key can't manage other keys.
 */
export function isRestricted(settings: Readonly<Record<RestrictionName, unknown>>): boolean {
  return restrictionNames.some((name) => settings[name] !== defaultSettings[name]);
}

/** The restrictions of a key that a node can check. They never allow more than the key's user can do. */
export type Restrictions = readonly CompiledRule[];

/** A key's settings as stored, or as parsed from JSON, in which a time is text. */
export type StoredSettings = Omit<KeySettings, "expiresAt"> & { readonly expiresAt: Date | string | null };

/** Compiles a key's restrictions. Returns undefined if it has none that a node enforces. */
export function compileRestrictions(settings: StoredSettings): Restrictions | undefined {
  const checks = restrictionNames.flatMap((name) => compileRule(name, settings) ?? []);
  return checks.length > 0 ? checks : undefined;
}

function compileRule<Name extends RestrictionName>(
  name: Name,
  settings: StoredSettings,
): CompiledRule | undefined {
  if (settings[name] === defaultSettings[name]) return undefined;
  // The value is not the default, so it is not null. A time is never compiled.
  return rules[name].compile?.(settings[name] as NonNullable<KeySettings[Name]>);
}

/** The approximate memory of restrictions, in bytes, as far as it grows with their values. */
export function sizeOfRestrictions(restrictions: Restrictions | undefined): number {
  return restrictions?.reduce((size, { bytes = 0 }) => size + bytes, 0) ?? 0;
}

/** Whether these restrictions allow access to a workspace. The membership of the key's user is checked separately. */
export function allowsWorkspace(restrictions: Restrictions | undefined, workspaceId: WorkspaceId): boolean {
  if (!restrictions) return true;
  for (const { workspaces } of restrictions) if (workspaces && !workspaces.has(workspaceId)) return false;
  return true;
}

/** Whether these restrictions allow a permission. The role of the key's user is checked separately. */
export function allowsPermission(restrictions: Restrictions | undefined, permission: Permission): boolean {
  if (!restrictions) return true;
  for (const { permits } of restrictions) if (permits && !permits(permission)) return false;
  return true;
}

/** Whether these restrictions allow an IP address; undefined if it is unknown. */
export function allowsAddress(restrictions: Restrictions | undefined, address: string | undefined): boolean {
  if (!restrictions) return true;
  for (const { allowsAddress: allows } of restrictions)
    if (allows && (address === undefined || !allows(address))) return false;
  return true;
}

/**
 * Whether the restrictions limit what the key can access: workspaces, permissions or changes. Restrictions of when and
 * from where the key can be used don't count.
 */
export function limitsAccess(restrictions: Restrictions | undefined): boolean {
  return restrictions?.some(({ workspaces, permits }) => workspaces || permits) ?? false;
}

const none: ReadonlySet<WorkspaceId> = new Set();

/** The workspaces that a key can list, out of those of its user; undefined for all of them. */
export function readableWorkspaces(
  restrictions: Restrictions | undefined,
): ReadonlySet<WorkspaceId> | undefined {
  if (!allowsPermission(restrictions, "workspace:read")) return none;
  return restrictions?.find(({ workspaces }) => workspaces)?.workspaces;
}

/** Whether a user has a permission, both by their role and by the restrictions of the key in use. */
export function hasPermission(
  role: Role,
  restrictions: Restrictions | undefined,
  permission: Permission,
): boolean {
  return roleHasPermission(role, permission) && allowsPermission(restrictions, permission);
}

/**
 * Whether a user may grant or revoke the role `granted`. This requires every permission of that role, and the
 * permission to manage members, both by the user's own role and by the restrictions of the key in use.
 */
export function canGrantRole(role: Role, restrictions: Restrictions | undefined, granted: Role): boolean {
  return [...listPermissions(granted), "members:manage" as const].every((permission) =>
    hasPermission(role, restrictions, permission),
  );
}

/** Whether a user may invite people with the role `granted`. This requires every permission of that role, as above. */
export function canInviteAs(role: Role, restrictions: Restrictions | undefined, granted: Role): boolean {
  return [...listPermissions(granted), "members:invite" as const].every((permission) =>
    hasPermission(role, restrictions, permission),
  );
}
