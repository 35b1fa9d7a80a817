/** A role with its article, such as "an admin". */
export function withArticle(role: string): string {
  return role === "owner" || role === "admin" ? `an ${role}` : `a ${role}`;
}
