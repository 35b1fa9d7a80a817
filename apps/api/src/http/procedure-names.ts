/**
 * Returns the names of the procedures that a tRPC request calls.
 * @param path the part of the path after `/trpc/`, percent-encoded.
 */
export function readProcedureNames(path: string): readonly string[] {
  return decode(path).split(",");
}

/** Decodes once, as tRPC does before it splits the names. tRPC rejects a path that can't be decoded. */
function decode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
