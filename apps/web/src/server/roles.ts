import type { Permission, PermissionRow, Role } from "./trpc.ts";

/** The titles of roles, from most to least powerful. Within a sentence, roles are in lower case. */
export const roleTitles = {
  owner: "Owner",
  admin: "Admin",
  member: "Member",
  viewer: "Viewer",
} as const satisfies Record<Role, string>;

export const roles = Object.keys(roleTitles) as readonly Role[]; // The keys of `roleTitles`.

export function isRole(text: unknown): text is Role {
  return typeof text === "string" && Object.hasOwn(roleTitles, text);
}

/** The roles that have a permission, from most to least powerful. */
export function rolesWithPermission(
  table: readonly PermissionRow[],
  permission: Permission,
): readonly Role[] {
  return table.find(({ name }) => name === permission)?.roles ?? [];
}

/** The members with these roles, for example "owners and admins". */
export function describeHolders(holders: readonly Role[]): string {
  return new Intl.ListFormat("en").format(holders.map((role) => `${role}s`));
}

/** "a member", "an admin". */
export function withArticle(role: Role): string {
  return `${/^[aeiou]/.test(role) ? "an" : "a"} ${role}`;
}
