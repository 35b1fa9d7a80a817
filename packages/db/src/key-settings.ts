import { type AliasedRawBuilder, sql } from "kysely";
import type { WorkspaceId } from "./ids.ts";

/** What a user can set on a key: whether it is disabled, and its restrictions. A key never has more access than its user. */
export interface KeySettings {
  readonly isDisabled: boolean;
  /** Null for never. Compared with the database's clock. */
  readonly expiresAt: Date | null;
  /** The workspaces that it can access; null for all of its user's. */
  readonly workspaceIds: readonly WorkspaceId[] | null;
  /** The permissions that it has; null for all of its user's. */
  readonly permissions: readonly string[] | null;
  /** Whether it has only permissions that end in `:read`. */
  readonly isReadOnly: boolean;
  /** The IP ranges that its requests may come from, in CIDR notation; null for anywhere. */
  readonly ipRanges: readonly string[] | null;
  /** At most `quota` uses per window; null for no limit. */
  readonly limit: { readonly quota: number; readonly windowSeconds: number } | null;
}

export type SettingName = keyof KeySettings;

/** The settings of a key without restrictions. */
export const defaultSettings: KeySettings = {
  isDisabled: false,
  expiresAt: null,
  workspaceIds: null,
  permissions: null,
  isReadOnly: false,
  ipRanges: null,
  limit: null,
};

export const settingNames = Object.keys(defaultSettings) as readonly SettingName[]; // The object's keys.

/**
 * How each setting is stored in `api_keys`: its columns, the SQL that reads it from a row that the query calls `key`, and
 * the columns' values. What a setting forbids is in `restrictions.ts` of packages/auth.
 */
const storage = {
  isDisabled: {
    columns: ["disabled_at"],
    read: (key: string) => `${key}.disabled_at is not null`,
    write: (isDisabled: boolean) => ({ disabled_at: isDisabled ? sql<Date>`clock_timestamp()` : null }),
  },
  expiresAt: {
    columns: ["expires_at"],
    read: (key: string) => `${key}.expires_at`,
    write: (time: Date | null) => ({ expires_at: time }),
  },
  workspaceIds: {
    columns: ["workspace_ids"],
    // The driver parses arrays of only a few types.
    read: (key: string) => `to_json(${key}.workspace_ids)`,
    write: (ids: readonly WorkspaceId[] | null) => ({
      workspace_ids: ids && sql<WorkspaceId[]>`${ids}::uuid[]`,
    }),
  },
  permissions: {
    columns: ["permissions"],
    read: (key: string) => `${key}.permissions`,
    write: (permissions: readonly string[] | null) => ({ permissions }),
  },
  isReadOnly: {
    columns: ["is_read_only"],
    read: (key: string) => `${key}.is_read_only`,
    write: (isReadOnly: boolean) => ({ is_read_only: isReadOnly }),
  },
  ipRanges: {
    columns: ["ip_ranges"],
    read: (key: string) => `${key}.ip_ranges`,
    write: (ranges: readonly string[] | null) => ({ ip_ranges: ranges }),
  },
  limit: {
    columns: ["limit_quota", "limit_window_seconds"],
    read: (key: string) => `case when ${key}.limit_quota is not null then
      json_build_object('quota', ${key}.limit_quota, 'windowSeconds', ${key}.limit_window_seconds) end`,
    write: (limit: KeySettings["limit"]) => ({
      limit_quota: limit?.quota ?? null,
      limit_window_seconds: limit?.windowSeconds ?? null,
    }),
  },
} satisfies {
  readonly [Name in SettingName]: {
    readonly columns: readonly string[];
    readonly read: (key: string) => string;
    readonly write: (value: KeySettings[Name]) => object;
  };
};

/** The columns of `api_keys` that hold a key's settings. */
export const settingColumns: readonly string[] = settingNames.flatMap((name) => storage[name].columns);

type Selected = { [Name in SettingName]: AliasedRawBuilder<KeySettings[Name], Name> }[SettingName];

/** Selects a key's settings from `api_keys`. */
export const selectSettings = settingNames.map((name) =>
  sql.raw(storage[name].read("api_keys")).as(name),
) as Selected[]; // Each item has the type of its name.

/** SQL for the arguments of `json_build_object`: a key's settings by their names, of a row that the query calls `key`. */
export function settingsAsJson(key: string): string {
  return settingNames.map((name) => `'${name}', ${storage[name].read(key)}`).join(", ");
}

/** A key's settings as columns of `api_keys`. */
export function toColumns(settings: KeySettings) {
  return {
    ...storage.isDisabled.write(settings.isDisabled),
    ...storage.expiresAt.write(settings.expiresAt),
    ...storage.workspaceIds.write(settings.workspaceIds),
    ...storage.permissions.write(settings.permissions),
    ...storage.isReadOnly.write(settings.isReadOnly),
    ...storage.ipRanges.write(settings.ipRanges),
    ...storage.limit.write(settings.limit),
  };
}

/** Picks the settings from an object with more members. */
export function pickSettings(key: KeySettings): KeySettings {
  const picked = settingNames.map((name) => [name, key[name]]);
  return Object.fromEntries(picked) as unknown as KeySettings; // It has every setting.
}
