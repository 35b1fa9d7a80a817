import type { ApiKey, KeySettings, SessionWorkspace } from "../../../server/trpc.ts";
import { formatCount } from "../../../ui/count.ts";
import { describeLimit as describeSetLimit } from "../../../ui/describe-limits.ts";
import { describeExactly } from "../../../ui/elapsed.ts";
import { lifetimes } from "../../../ui/lifetimes.ts";

const list = new Intl.ListFormat("en");

export function describeExpiry(expiresAt: string | null): string {
  return expiresAt === null ? "Never" : describeExactly(new Date(expiresAt));
}

/** Describes an expiry that isn't saved yet: a time or a duration. */
export function describeRequestedExpiry(expiresAt: KeySettings["expiresAt"]): string {
  if (typeof expiresAt !== "object" || expiresAt === null) return describeExpiry(expiresAt ?? null);
  const { inSeconds } = expiresAt;
  return (lifetimes as Readonly<Record<number, string>>)[inSeconds] ?? `In ${formatCount(inSeconds)} s`;
}

/** "100 requests per minute". */
export function describeLimit(limit: ApiKey["limit"]): string {
  return limit === null ? "No rate limit" : describeSetLimit(limit);
}

/** The permissions of a key without selected permissions. */
export function describeAllPermissions(isServiceAccount: boolean): string {
  return `All permissions of ${isServiceAccount ? "the service account’s" : "your"} role`;
}

export function describePermissions(
  { permissions, isReadOnly }: Pick<ApiKey, "permissions" | "isReadOnly">,
  isServiceAccount: boolean,
): string {
  if (permissions === null) return isReadOnly ? "Read only" : describeAllPermissions(isServiceAccount);
  const names = list.format(permissions);
  return isReadOnly ? `Read only, limited to ${names}` : names;
}

export function describeWorkspaces(
  ids: readonly string[] | null,
  workspaces: readonly SessionWorkspace[],
): string {
  if (ids === null) return "All workspaces, including future ones";
  return list.format(ids.map((id) => workspaces.find((workspace) => workspace.id === id)?.name ?? id));
}

export function describeRanges(ranges: readonly string[] | null): string {
  return ranges === null ? "Any IP address" : list.format(ranges);
}

/** A setting that expands access, before and after a change. */
export interface Expansion {
  readonly label: string;
  readonly before: string;
  readonly after: string;
}

interface ExpansionOptions {
  /** The settings for which the API requires a confirmation. */
  readonly names: readonly string[];
  /** The workspaces of the user. */
  readonly workspaces: readonly SessionWorkspace[];
}

/** Describes how a change expands the access of a key. */
export function describeExpansions(
  key: ApiKey,
  settings: KeySettings,
  { names, workspaces }: ExpansionOptions,
): readonly Expansion[] {
  const allPermissions = describeAllPermissions(key.serviceAccount !== null);
  const describe: Readonly<Record<keyof KeySettings, () => Expansion>> &
    Readonly<Record<string, () => Expansion>> = {
    isDisabled: () => ({ label: "State", before: "Disabled", after: "Enabled" }),
    expiresAt: () => ({
      label: "Expires",
      before: describeExpiry(key.expiresAt),
      after: describeRequestedExpiry(settings.expiresAt),
    }),
    workspaceIds: () => ({
      label: "Workspaces",
      before: describeWorkspaces(key.workspaceIds, workspaces),
      after: describeWorkspaces(settings.workspaceIds ?? null, workspaces),
    }),
    permissions: () => ({
      label: "Permissions",
      before: key.permissions ? list.format(key.permissions) : allPermissions,
      after: settings.permissions ? list.format(settings.permissions) : allPermissions,
    }),
    isReadOnly: () => ({ label: "Read only", before: "Yes", after: "No, it can also change data" }),
    ipRanges: () => ({
      label: "IP ranges",
      before: describeRanges(key.ipRanges),
      after: describeRanges(settings.ipRanges ?? null),
    }),
    limit: () => ({
      label: "Rate limit",
      before: describeLimit(key.limit),
      after: describeLimit(settings.limit ?? null),
    }),
  };
  return names.flatMap((name) => describe[name]?.() ?? []);
}
