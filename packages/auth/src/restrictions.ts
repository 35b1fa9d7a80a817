import type { WorkspaceId } from "@latchkey/db/ids";
import { defaultSettings, type KeySettings, type SettingName, settingNames } from "@latchkey/db/key-settings";
import type { Role } from "@latchkey/db/schema";
import { containsIpRange, createIpMatcher } from "./ip-ranges.ts";
import { listPermissions, type Permission, roleHolds } from "./permissions.ts";

/** What one restriction of one key allows. A check that is absent allows everything. */
interface Checks {
  /** The only workspaces that the key can access. */
  readonly workspaces?: ReadonlySet<WorkspaceId>;
  readonly permits?: (permission: Permission) => boolean;
  readonly allowsAddress?: (address: string) => boolean;
}

/** The rules of one setting. */
interface Rule<Value> {
  /** Whether an edit lets the key do what it could not do before. */
  readonly expands: (before: Value, after: Value) => boolean;
  /** Compiles what a value allows. Absent where the database enforces the setting, by its own clock and counters. */
  readonly compile?: (value: NonNullable<Value>) => Checks;
}

/**
 * The rules of every setting of a key. A new one that is missing here does not compile; how it is stored is declared in
 * `key-settings.ts` of packages/db (docs/decisions/0033).
 */
const rules: { readonly [Name in SettingName]: Rule<KeySettings[Name]> } = {
  // Enforced as a fact of the key, `isDisabled`: it says whether the key works at all.
  isDisabled: { expands: isLifted },
  // Enforced by the statement that counts a use.
  expiresAt: { expands: (before, after) => before !== null && (after === null || after > before) },
  workspaceIds: {
    expands: hasMore,
    compile: (ids) => ({ workspaces: new Set(ids) }),
  },
  permissions: {
    expands: hasMore,
    compile: (names) => {
      const allowed: ReadonlySet<string> = new Set(names);
      return { permits: (permission) => allowed.has(permission) };
    },
  },
  isReadOnly: {
    expands: isLifted,
    compile: () => ({ permits: (permission) => permission.endsWith(":read") }),
  },
  ipRanges: {
    expands: (before, after) =>
      before !== null &&
      (after === null || !after.every((range) => before.some((around) => containsIpRange(around, range)))),
    compile: (ranges) => ({ allowsAddress: createIpMatcher(ranges) }),
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

/** The settings by which an edit lets a key do what it could not do before. */
export function listExpanded(before: KeySettings, after: KeySettings): readonly SettingName[] {
  const expands = <Name extends SettingName>(name: Name) => rules[name].expands(before[name], after[name]);
  return settingNames.filter((name) => expands(name));
}

/** All settings but whether the key is disabled: that says whether it works, and nothing of what it may do. */
type RestrictionName = Exclude<SettingName, "isDisabled">;

const restrictionNames = settingNames.filter((name): name is RestrictionName => name !== "isDisabled");

/** Whether a key has any restriction: a time, a place or a limit too. Such a key can manage no key but itself. */
export function isRestricted(settings: Readonly<Record<RestrictionName, unknown>>): boolean {
  return restrictionNames.some((name) => settings[name] !== defaultSettings[name]);
}

/** What the restrictions of a key allow, as far as a node can tell. It never allows more than the key's user may do. */
export type Restrictions = readonly Checks[];

/** A key's settings as they are stored; also as JSON has them, where a time is text. */
export type StoredSettings = Omit<KeySettings, "expiresAt"> & { readonly expiresAt: Date | string | null };

/** Compiles a key's restrictions; undefined where it has none that a node enforces. */
export function compileRestrictions(settings: StoredSettings): Restrictions | undefined {
  const checks = restrictionNames.flatMap((name) => compileRule(name, settings) ?? []);
  return checks.length > 0 ? checks : undefined;
}

function compileRule<Name extends RestrictionName>(name: Name, settings: StoredSettings): Checks | undefined {
  if (settings[name] === defaultSettings[name]) return undefined;
  // It is not the default, and so not null; a time is never compiled.
  return rules[name].compile?.(settings[name] as NonNullable<KeySettings[Name]>);
}

/** Whether a key with these restrictions can access a workspace, as far as the key goes. */
export function allowsWorkspace(restrictions: Restrictions | undefined, workspaceId: WorkspaceId): boolean {
  if (!restrictions) return true;
  for (const { workspaces } of restrictions) if (workspaces && !workspaces.has(workspaceId)) return false;
  return true;
}

/** Whether a key with these restrictions has a permission, as far as the key goes. */
export function allowsPermission(restrictions: Restrictions | undefined, permission: Permission): boolean {
  if (!restrictions) return true;
  for (const { permits } of restrictions) if (permits && !permits(permission)) return false;
  return true;
}

/** Whether a key with these restrictions may be used from an address; undefined is an unknown one. */
export function allowsAddress(restrictions: Restrictions | undefined, address: string | undefined): boolean {
  if (!restrictions) return true;
  for (const { allowsAddress: allows } of restrictions)
    if (allows && (address === undefined || !allows(address))) return false;
  return true;
}

/** Whether the restrictions limit what a key may do, by workspaces or permissions, not only when and from where. */
export function limitsAccess(restrictions: Restrictions | undefined): boolean {
  return restrictions?.some(({ workspaces, permits }) => workspaces || permits) ?? false;
}

const none: ReadonlySet<WorkspaceId> = new Set();

/** The workspaces that a key may see in a list, if its user does; undefined for all of them. */
export function readableWorkspaces(
  restrictions: Restrictions | undefined,
): ReadonlySet<WorkspaceId> | undefined {
  if (!allowsPermission(restrictions, "workspace:read")) return none;
  return restrictions?.find(({ workspaces }) => workspaces)?.workspaces;
}

/**
 * Whether somebody may give or take the role `granted`: nobody grants more than they hold, by their own role and by the
 * key that they act with, and nobody takes from somebody who holds more.
 */
export function mayGrant(role: Role, restrictions: Restrictions | undefined, granted: Role): boolean {
  return [...listPermissions(granted), "members:manage" as const].every(
    (permission) => roleHolds(role, permission) && allowsPermission(restrictions, permission),
  );
}
