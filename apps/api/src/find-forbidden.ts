import { requestLimits } from "@latchkey/limits";
import { tooManyFields } from "./field-limit.ts";

const { maxFields } = requestLimits;

/**
 * Finds U+0000, a lone surrogate, or a member named `__proto__`, in a JSON value. Returns the path of the string, or of the
 * object with the member name, joined with dots; undefined if there is none. Doesn't recurse, so that no nesting is too deep.
 * @throws {AppError} BAD_REQUEST if an object has more than `maxFields` fields.
 */
export function findForbidden(json: unknown): string | undefined {
  const pending: { readonly path: string; readonly value: unknown }[] = [{ path: "", value: json }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { path, value } = next;
    if (typeof value === "string" && !isStorableText(value)) return path;
    if (typeof value !== "object" || value === null) continue;
    const members = Object.entries(value);
    if (members.length > maxFields && !Array.isArray(value)) throw tooManyFields();
    for (const [name, member] of members) {
      if (!isStorableText(name) || name === "__proto__") return path;
      pending.push({ path: path === "" ? name : `${path}.${name}`, value: member });
    }
  }
  return undefined;
}

/** Postgres stores neither U+0000 nor half of a surrogate pair in JSON. */
export function isStorableText(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}
