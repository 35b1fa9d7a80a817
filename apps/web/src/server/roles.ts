import type { Permission, PermissionRow, Role } from "./trpc.ts";

/** Roles from most to least powerful, as they are titled; within a sentence they are in lower case. */
export const roleTitles = {
  owner: "Owner",
  admin: "Admin",
  member: "Member",
  viewer: "Viewer",
} as const satisfies Record<Role, string>;

export const roles = Object.keys(roleTitles) as readonly Role[]; // The table's keys.

export function isRole(text: unknown): text is Role {
  return typeof text === "string" && Object.hasOwn(roleTitles, text);
}

/** Which roles hold a permission, from most to least powerful. */
export function rolesHolding(table: readonly PermissionRow[], permission: Permission): readonly Role[] {
  return table.find(({ name }) => name === permission)?.roles ?? [];
}

/** "owners and admins": who may do what only these roles allow. */
export function describeHolders(holders: readonly Role[]): string {
  return new Intl.ListFormat("en").format(holders.map((role) => `${role}s`));
}

/** Whether a role allows less than another one does. */
export function isLower(role: Role, than: Role): boolean {
  return roles.indexOf(role) > roles.indexOf(than);
}

/** "a member", "an admin". */
export function withArticle(role: Role): string {
  return `${/^[aeiou]/.test(role) ? "an" : "a"} ${role}`;
}
