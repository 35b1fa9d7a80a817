/**
 * Where U+0000 is in a JSON value: the path of a string or of a member's name, its parts joined with dots. Undefined when
 * it is nowhere. Walks the value without recursion, so that no nesting is too deep.
 */
export function findNul(json: unknown): string | undefined {
  const pending: { readonly path: string; readonly value: unknown }[] = [{ path: "", value: json }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { path, value } = next;
    if (typeof value === "string" && value.includes("\0")) return path;
    if (typeof value !== "object" || value === null) continue;
    for (const [name, member] of Object.entries(value)) {
      if (name.includes("\0")) return path;
      pending.push({ path: path === "" ? name : `${path}.${name}`, value: member });
    }
  }
  return undefined;
}
