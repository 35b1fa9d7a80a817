import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { refreshEvery } from "../../server/refresh-every.ts";
import { trpc } from "../../server/trpc.ts";
import { usageBuckets } from "../../ui/usage-buckets.ts";
import type { UsageRange } from "../../ui/usage-ranges.ts";
import type { KeyspacePath } from "./use-keyspaces.ts";

const refreshOptions = refreshEvery(3_000);

/** An issued key and its keyspace. */
export interface IssuedKeyPath extends KeyspacePath {
  readonly id: string;
}

export function useIssuedKeyUsage(path: IssuedKeyPath, range: UsageRange, now: Date) {
  return useQuery({
    ...trpc.keyspaceUsage.keyUsage.queryOptions({ ...path, ...usageBuckets(range, now) }),
    ...refreshOptions,
    placeholderData: keepPreviousData,
  });
}

export function useIssuedKeyRejections(path: IssuedKeyPath) {
  return useQuery({ ...trpc.keyspaceUsage.rejections.queryOptions(path), ...refreshOptions });
}

/** The latest changes to a key, or to its credits. */
export function useIssuedKeyChanges(path: IssuedKeyPath, which: "all" | "credits") {
  return useQuery({
    ...trpc.issuedKeys.changes.queryOptions({ ...path, ...(which === "credits" && { hasCredits: true }) }),
    ...refreshOptions,
    placeholderData: keepPreviousData,
  });
}
