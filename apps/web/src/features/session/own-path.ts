/**
 * The given value if it is a path of this origin (as `next=` may be), else undefined. A browser reads `//` and
 * `/\` as another host and drops tabs and line ends before it does, so that the parsed address decides too.
 */
export function findOwnPath(value: unknown, origin: string): string | undefined {
  if (typeof value !== "string" || !ownPathForm.test(value)) return undefined;
  const parsed = URL.parse(value, origin);
  if (parsed?.origin !== origin) return undefined;
  // Dots are resolved only now: "/.//elsewhere.example" has become "//elsewhere.example".
  const path = parsed.pathname + parsed.search + parsed.hash;
  return ownPathForm.test(path) ? path : undefined;
}

const ownPathForm = /^\/(?![/\\])/;
