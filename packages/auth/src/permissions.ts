import type { Role } from "@latchkey/db/schema";

/** Every permission, as `noun:verb`, with a description for people who grant it. */
export const permissionCatalog = {
  "workspace:read": "See the name, description and request statistics.",
  "workspace:update": "Edit the name and description.",
  "workspace:delete": "Delete the workspace with everything in it.",
  "members:read": "See the members and their roles.",
  "members:manage":
    "Invite and remove members, change their roles, and manage service accounts and their API keys.",
  "audit:read": "See who changed what in the workspace.",
  "keys:read": "See every API key that can reach the workspace.",
  "keys:manage": "Block API keys from the workspace, and set its policy for them.",
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
    "members:manage",
    "audit:read",
    "keys:read",
    "keys:manage",
    "webhooks:manage",
  ]),
  member: new Set(["workspace:read", "members:read"]),
  viewer: new Set(["workspace:read", "members:read"]),
} satisfies Record<Role, ReadonlySet<Permission>>;

/** From most to least powerful. */
export const roles = Object.keys(permissionsByRole) as readonly Role[]; // The table's keys.

/** Whether a role is more powerful than another. */
export function isHigherRole(role: Role, other: Role): boolean {
  return roles.indexOf(role) < roles.indexOf(other);
}

/** Whether a role has a permission. */
export function roleHolds(role: Role, permission: Permission): boolean {
  const held: ReadonlySet<Permission> = permissionsByRole[role];
  return held.has(permission);
}

/** The permissions of a role, in the order of the catalog. */
export function listPermissions(role: Role): readonly Permission[] {
  return permissions.filter((permission) => roleHolds(role, permission));
}
