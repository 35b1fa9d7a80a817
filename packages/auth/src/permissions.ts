import type { Role } from "@latchkey/db/role";

/** Every permission, as `noun:verb`, with a description for people who grant it. */
export const permissionCatalog = {
  "workspace:read":
    "See the workspace's name, description and API key policy and, in the web app, its request statistics.",
  "workspace:update": "Edit the name and description, and set whether members need a second factor.",
  "workspace:delete":
    "Delete the workspace with everything in it, set how long its audit log is kept, and transfer its ownership.",
  "members:read": "See the members and their roles.",
  "members:invite": "Invite people with a role no higher than the inviter's, and manage those invitations.",
  "members:manage":
    "Invite and remove members, and change their roles. Manage all invitations, and service accounts and their API keys.",
  "audit:read": "See who changed what in the workspace.",
  "api-keys:read": "See every API key that can reach the workspace.",
  "api-keys:manage": "Block API keys from the workspace, and set its API key policy.",
  "keyspaces:read": "See the keyspaces.",
  "keyspaces:manage": "Create, change, disable and delete keyspaces.",
  "keys:read": "See issued keys, consumers, their usage, and who changed the keys.",
  "keys:manage": "Issue, change, rotate and delete keys, and change consumers and credits.",
  "keys:verify": "Verify issued keys, which spends their limits and credits.",
  "webhooks:manage": "See and manage webhooks, which send the audit log to other servers.",
} as const;

/** A permission of the catalog. */
export type Permission = keyof typeof permissionCatalog;

export const permissions = Object.keys(permissionCatalog) as readonly Permission[]; // The catalog's keys.

/** The permissions of each role. A role has all permissions of the roles after it. */
const permissionsByRole = {
  owner: new Set(permissions),
  admin: new Set([
    "workspace:read",
    "workspace:update",
    "members:read",
    "members:invite",
    "members:manage",
    "audit:read",
    "api-keys:read",
    "api-keys:manage",
    "keyspaces:read",
    "keyspaces:manage",
    "keys:read",
    "keys:manage",
    "keys:verify",
    "webhooks:manage",
  ]),
  member: new Set([
    "workspace:read",
    "members:read",
    "members:invite",
    "keyspaces:read",
    "keys:read",
    "keys:verify",
  ]),
  viewer: new Set(["workspace:read", "members:read", "keyspaces:read", "keys:read"]),
} satisfies Record<Role, ReadonlySet<Permission>>;

/** From most to least powerful. */
export const roles = Object.keys(permissionsByRole) as readonly Role[]; // The table's keys.

/**
 * A description of what each role may change, for people who choose a role. Members with any role can view the
 * workspace and its members.
 */
export const roleCatalog = {
  owner: "Manages everything, including deleting the workspace and transferring ownership.",
  admin: "Manages the workspace, its members, service accounts, API keys, keyspaces and webhooks.",
  member: "Can view the workspace, verify issued keys, invite people, and manage the invitations they sent.",
  viewer: "Can view the workspace, but not change it.",
} as const satisfies Record<Role, string>;

/**
 * The permissions that another one includes. A key that is restricted to permissions has them too, so that keys from
 * before a permission was split can do what they could.
 */
const includedPermissions: ReadonlyMap<string, readonly Permission[]> = new Map<Permission, Permission[]>([
  ["members:manage", ["members:invite"]],
]);

/** The permissions of a list, which may contain unknown names, and those that they include. */
export function expandPermissions(names: readonly string[]): ReadonlySet<string> {
  return new Set(names.flatMap((name) => [name, ...(includedPermissions.get(name) ?? [])]));
}

/** Whether a role is more powerful than another. */
export function isHigherRole(role: Role, other: Role): boolean {
  return roles.indexOf(role) < roles.indexOf(other);
}

/** Whether a role has a permission. */
export function roleHasPermission(role: Role, permission: Permission): boolean {
  const held: ReadonlySet<Permission> = permissionsByRole[role];
  return held.has(permission);
}

/** The permissions of a role, in the order of the catalog. */
export function listPermissions(role: Role): readonly Permission[] {
  return permissions.filter((permission) => roleHasPermission(role, permission));
}
