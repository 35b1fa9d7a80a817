/**
 * Returns the value, such as that of `next=`, as a normalized path if it is a same-origin path.
 * Otherwise returns undefined. Browsers remove tabs and line breaks and then parse a leading `//` or
 * `/\` as the start of a host name, so the parsed URL is checked too.
 */
export function findSameOriginPath(value: unknown, origin: string): string | undefined {
  if (typeof value !== "string" || !sameOriginPattern.test(value)) return undefined;
  const parsed = URL.parse(value, origin);
  if (parsed?.origin !== origin) return undefined;
  // Parsing resolves dot segments: "/.//elsewhere.example" has become "//elsewhere.example".
  const path = parsed.pathname + parsed.search + parsed.hash;
  return sameOriginPattern.test(path) ? path : undefined;
}

const sameOriginPattern = /^\/(?![/\\])/;
