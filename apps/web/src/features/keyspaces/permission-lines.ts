import { issuedKeyLimits, issuedPermissionPattern, maxLength } from "@latchkey/limits";

/** Whether a text is a permission of an issued key, such as `documents.read`, `documents.*` or `*`. */
export function isIssuedPermission(text: string): boolean {
  return text.length <= maxLength.issuedPermission && issuedPermissionPattern.test(text);
}

/** The permissions in a text, each once. They are separated by spaces, commas or new lines. */
export function readPermissions(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((name) => name !== ""))];
}

/** Returns the error to show, or null if all permissions are valid. */
export function describePermissionError(text: string): string | null {
  const names = readPermissions(text);
  const { maxPermissions } = issuedKeyLimits;
  if (names.length > maxPermissions)
    return `Include at most ${maxPermissions} permissions. You entered ${names.length}.`;
  const invalid = names.find((name) => !isIssuedPermission(name));
  return invalid === undefined
    ? null
    : `“${invalid}” is not a permission. Enter one such as documents.read, documents.* or *.`;
}
