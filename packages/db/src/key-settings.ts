import { sql } from "kysely";
import type { WorkspaceId } from "./ids.ts";

/** What a key's user holds it to. Its right is what its user may do and this allows. */
export interface KeySettings {
  readonly isDisabled: boolean;
  /** Null for never. Judged by the database's clock. */
  readonly expiresAt: Date | null;
  /** The workspaces that it reaches; null for all of its user's. */
  readonly workspaceIds: readonly WorkspaceId[] | null;
  /** The permissions that it has; null for all of its user's. */
  readonly permissions: readonly string[] | null;
  /** Whether it has only permissions that end in `:read`. */
  readonly isReadOnly: boolean;
  /** The ranges of addresses that it may come from, in CIDR notation; null for anywhere. */
  readonly ipRanges: readonly string[] | null;
  /** At most `quota` uses in a window of this length; null for no limit. */
  readonly limit: { readonly quota: number; readonly windowSeconds: number } | null;
}

/** A key that is held to nothing. */
export const freeKey: KeySettings = {
  isDisabled: false,
  expiresAt: null,
  workspaceIds: null,
  permissions: null,
  isReadOnly: false,
  ipRanges: null,
  limit: null,
};

/** The columns of `api_keys` that have a key's settings; the limit as `quota` and `windowSeconds`. */
export const selectSettings = [
  sql<boolean>`api_keys.disabled_at is not null`.as("isDisabled"),
  "api_keys.expires_at as expiresAt",
  // Postgres's driver knows arrays of few types.
  sql<readonly WorkspaceId[] | null>`to_json(api_keys.workspace_ids)`.as("workspaceIds"),
  "api_keys.permissions",
  "api_keys.is_read_only as isReadOnly",
  "api_keys.ip_ranges as ipRanges",
  "api_keys.limit_quota as quota",
  "api_keys.limit_window_seconds as windowSeconds",
] as const;

/** Reads {@link selectSettings}. */
export function toSettings<
  Row extends { readonly quota: number | null; readonly windowSeconds: number | null },
>(row: Row): Omit<Row, "quota" | "windowSeconds"> & Pick<KeySettings, "limit"> {
  const { quota, windowSeconds, ...settings } = row;
  return { ...settings, limit: quota !== null && windowSeconds !== null ? { quota, windowSeconds } : null };
}

/** Whether a key is held to anything that outlasts being disabled. */
export function isBound(settings: KeySettings): boolean {
  const { expiresAt, workspaceIds, permissions, isReadOnly, ipRanges, limit } = settings;
  return (
    isReadOnly || [expiresAt, workspaceIds, permissions, ipRanges, limit].some((bound) => bound !== null)
  );
}

/** A key's settings as columns of `api_keys`. */
export function toColumns(settings: KeySettings) {
  const { limit } = settings;
  return {
    disabled_at: settings.isDisabled ? sql<Date>`clock_timestamp()` : null,
    expires_at: settings.expiresAt,
    workspace_ids: settings.workspaceIds && sql<WorkspaceId[]>`${settings.workspaceIds}::uuid[]`,
    permissions: settings.permissions,
    is_read_only: settings.isReadOnly,
    ip_ranges: settings.ipRanges,
    limit_quota: limit?.quota ?? null,
    limit_window_seconds: limit?.windowSeconds ?? null,
  };
}
