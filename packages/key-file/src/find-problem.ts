import { requestLimits } from "@latchkey/limits";
import { keyFileFields } from "./key-file-fields.ts";
import type { KeyFileRow } from "./key-file-row.ts";

const { maxFields, maxDepth } = requestLimits;
const tooDeep = `Nest objects and lists at most ${maxDepth} levels deep.`;
const tooManyFields = `Use at most ${maxFields.toLocaleString("en")} fields in an object.`;
const forbiddenName = "Remove the field named __proto__.";
const forbiddenText = "Remove U+0000 and incomplete characters.";

/**
 * Finds what would stop the import of other rows too: what the API rejects in any request (U+0000, a lone surrogate, a field named
 * `__proto__`, an object with too many fields), and values nested so deeply that they can't be written as JSON. Returns what is wrong
 * with the row; undefined if nothing is. Doesn't recurse, so that no nesting is too deep.
 */
export function findProblem(content: KeyFileRow["content"]): string | undefined {
  const pending = [{ field: "", value: content as unknown, depth: 0 }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { field, value, depth } = next;
    const problem = describeValue(value, depth);
    if (problem !== undefined) return field === "" ? problem : `${field}: ${problem}`;
    if (typeof value !== "object" || value === null) continue;
    for (const [name, member] of Object.entries(value))
      pending.push({ field: depth === 0 ? fieldOf(name) : field, value: member, depth: depth + 1 });
  }
  return undefined;
}

/** What is wrong with a value itself, or with the names of its members. */
function describeValue(value: unknown, depth: number): string | undefined {
  if (typeof value === "string") return isStorable(value) ? undefined : forbiddenText;
  if (typeof value !== "object" || value === null) return undefined;
  if (depth >= maxDepth) return tooDeep;
  if (Array.isArray(value)) return undefined;
  const names = Object.keys(value);
  if (names.length > maxFields) return tooManyFields;
  if (names.includes("__proto__")) return forbiddenName;
  return names.every(isStorable) ? undefined : forbiddenText;
}

function isStorable(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

/** The name of a field of a key; empty for another one, which can have any length. */
function fieldOf(name: string): string {
  const known: readonly string[] = keyFileFields;
  return known.includes(name) ? name : "";
}
