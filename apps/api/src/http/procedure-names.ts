/**
 * The procedures that a tRPC request calls, as it names them.
 * @param path what follows `/trpc/`, percent-encoded.
 */
export function readProcedureNames(path: string): readonly string[] {
  return decode(path).split(",");
}

/** Decodes once, as tRPC does before it splits the names. It rejects what cannot be decoded. */
function decode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
