import { useState } from "react";
import { type KeyspacePath, useLatestOutcome } from "./use-keyspaces.ts";

/**
 * Whether to guide to the first verification of a keyspace: if none had arrived when its page was opened, until the page is
 * closed, so that the page can show its arrival. Undefined while this is unknown.
 */
export function useFirstVerification(path: KeyspacePath): boolean | undefined {
  const { data, isPending } = useLatestOutcome(path);
  const [isGuided, setIsGuided] = useState(false);
  if (data?.outcome === null && !isGuided) setIsGuided(true);
  return isPending ? undefined : isGuided;
}
