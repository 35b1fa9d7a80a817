import { restrictionLimits } from "@latchkey/limits";
import type { ApiKey, KeySettings, Permission } from "../../../server/trpc.ts";
import { formatCount } from "../../../ui/count.ts";
import { describeInvalidRanges } from "../../../ui/ip-range-lines.ts";
import type { lifetimes } from "../../../ui/lifetimes.ts";
import { isWholeNumber } from "../../../ui/whole-number.ts";

/** The rate limit windows that have a name, by length in seconds. */
export const namedWindows = { "1": "second", "60": "minute", "3600": "hour", "86400": "day" } as const;

type Expiry = "keep" | "never" | keyof typeof lifetimes | "date";

/** The values of the form for restrictions. */
export interface RestrictionValues {
  /** "keep" for the current expiry. */
  readonly expiry: Expiry;
  /** The value of a `datetime-local` input. */
  readonly expiryDate: string;
  readonly isReadOnly: boolean;
  /** Null for all. */
  readonly permissions: readonly Permission[] | null;
  /** Null for all. */
  readonly workspaceIds: readonly string[] | null;
  /** One IP range per line. */
  readonly ipRanges: string;
  /** Empty for no limit. */
  readonly quota: string;
  readonly window: keyof typeof namedWindows | "other";
  /** The length of the window, if `window` is "other". */
  readonly windowSeconds: string;
}

export type RestrictionName = Exclude<keyof KeySettings, "isDisabled">;

/** A key without restrictions. */
export const noRestrictions: RestrictionValues = {
  expiry: "never",
  expiryDate: "",
  isReadOnly: false,
  permissions: null,
  workspaceIds: null,
  ipRanges: "",
  quota: "",
  window: "60",
  windowSeconds: "",
};

/**
 * The initial restrictions of a new key. They include a lifetime, so that a forgotten key stops
 * working.
 */
export const suggestedRestrictions: RestrictionValues = { ...noRestrictions, expiry: "7776000" };

/** Restrictions for common uses. */
export const templates = {
  custom: { label: "None", restrictions: () => suggestedRestrictions },
  "read-only": {
    label: "Read only",
    restrictions: () => ({ ...suggestedRestrictions, isReadOnly: true }),
  },
  "one-workspace": {
    label: "One workspace",
    restrictions: (workspaceId) => ({ ...suggestedRestrictions, workspaceIds: toWorkspaceIds(workspaceId) }),
  },
  "ci-job": {
    label: "CI job: one workspace, rate limited",
    restrictions: (workspaceId) => ({
      ...suggestedRestrictions,
      expiry: "2592000",
      workspaceIds: toWorkspaceIds(workspaceId),
      quota: "100",
      window: "60",
    }),
  },
} as const satisfies Record<
  string,
  {
    readonly label: string;
    /** @param workspaceId the current workspace of the user; undefined if there is none. */
    readonly restrictions: (workspaceId: string | undefined) => RestrictionValues;
  }
>;

export type TemplateName = keyof typeof templates;

/** Replaces the values of one template with those of another, and keeps the values that the user changed. */
export function changeTemplate(
  values: RestrictionValues,
  before: RestrictionValues,
  after: RestrictionValues,
): RestrictionValues {
  const names = Object.keys(values) as (keyof RestrictionValues)[]; // The object's keys.
  const changed = names.filter((name) => JSON.stringify(values[name]) !== JSON.stringify(before[name]));
  return { ...after, ...Object.fromEntries(changed.map((name) => [name, values[name]])) };
}

/** Without a workspace, the list is empty, which the form rejects. Null would allow all workspaces. */
function toWorkspaceIds(workspaceId: string | undefined): readonly string[] {
  return workspaceId === undefined ? [] : [workspaceId];
}

/** Converts the restrictions of a key to form values. */
export function readRestrictions(key: ApiKey): RestrictionValues {
  const windowSeconds = String(key.limit?.windowSeconds ?? 60);
  const isNamed = Object.hasOwn(namedWindows, windowSeconds);
  return {
    expiry: key.expiresAt ? "keep" : "never",
    expiryDate: "",
    isReadOnly: key.isReadOnly,
    permissions: key.permissions as Permission[] | null, // Names of the permission catalog.
    workspaceIds: key.workspaceIds,
    ipRanges: key.ipRanges?.join("\n") ?? "",
    quota: key.limit ? String(key.limit.quota) : "",
    window: isNamed ? (windowSeconds as keyof typeof namedWindows) : "other", // Checked above.
    windowSeconds: isNamed ? "" : windowSeconds,
  };
}

const { maxQuota, maxWindowSeconds } = restrictionLimits;

/** Validates each field. Returns the error to show, or null if the value is valid. */
export const restrictionRules = {
  expiryDate: (date: string, { expiry }: RestrictionValues): string | null => {
    if (expiry !== "date") return null;
    // The server checks that the date is in the future, because the clock of a browser can be
    // wrong.
    return Number.isNaN(new Date(date).getTime()) ? "Enter a date and a time." : null;
  },
  permissions: (permissions: readonly Permission[] | null): string | null =>
    permissions?.length === 0 ? "Select at least one permission, or all permissions." : null,
  workspaceIds: (ids: readonly string[] | null): string | null =>
    ids?.length === 0 ? "Select at least one workspace, or all workspaces." : null,
  ipRanges: (text: string): string | null => describeInvalidRanges(text),
  quota: (quota: string): string | null =>
    quota.trim() === "" || isWholeNumber(quota, { min: 1, max: maxQuota })
      ? null
      : `Enter a whole number from 1 to ${formatCount(maxQuota)}, or leave empty for no limit.`,
  windowSeconds: (seconds: string, { window, quota }: RestrictionValues): string | null =>
    quota.trim() === "" || window !== "other" || isWholeNumber(seconds, { min: 1, max: maxWindowSeconds })
      ? null
      : `Enter a whole number of seconds from 1 to ${formatCount(maxWindowSeconds)} (1 day).`,
};

/** Every restriction, except an expiry that stays as it is. */
type AllSettings = Required<Omit<KeySettings, "isDisabled" | "expiresAt">> & Pick<KeySettings, "expiresAt">;

/** Returns the settings that differ between `before` and `after`, in the format of the API. */
export function changedSettings(before: RestrictionValues, after: RestrictionValues): Partial<AllSettings> {
  const previous = toSettings(before);
  const next = toSettings(after);
  const names = Object.keys(next) as RestrictionName[]; // The object's keys.
  return Object.fromEntries(
    names
      .filter((name) => JSON.stringify(previous[name]) !== JSON.stringify(next[name]))
      .map((name) => [name, next[name]]),
  );
}

/** Converts form values to settings in the format of the API. */
export function toSettings(values: RestrictionValues): AllSettings {
  const ipRanges = values.ipRanges.split(/[\s,]+/).filter((range) => range !== "");
  const seconds = Number(values.window === "other" ? values.windowSeconds : values.window);
  return {
    ...(values.expiry !== "keep" && { expiresAt: readExpiry(values) }),
    isReadOnly: values.isReadOnly,
    permissions: values.permissions && [...values.permissions].sort(),
    workspaceIds: values.workspaceIds && [...values.workspaceIds].sort(),
    ipRanges: ipRanges.length > 0 ? ipRanges : null,
    limit: values.quota.trim() === "" ? null : { quota: Number(values.quota), windowSeconds: seconds },
  };
}

/** A lifetime is sent as a duration, so that the server's clock determines the expiry. */
function readExpiry({ expiry, expiryDate }: RestrictionValues): NonNullable<KeySettings["expiresAt"]> | null {
  if (expiry === "never") return null;
  return expiry === "date" ? new Date(expiryDate).toISOString() : { inSeconds: Number(expiry) };
}

/** Returns the form field for the path of an API issue: `ipRanges` for "settings.ipRanges.0". */
export function findRestrictionField(path: string): keyof RestrictionValues | undefined {
  const [name = ""] = path.replace(/^settings\./, "").split(".");
  return fieldBySetting[name as RestrictionName]; // Undefined for other paths.
}

const fieldBySetting: Readonly<Record<RestrictionName, keyof RestrictionValues>> = {
  expiresAt: "expiryDate",
  isReadOnly: "isReadOnly",
  permissions: "permissions",
  workspaceIds: "workspaceIds",
  ipRanges: "ipRanges",
  limit: "quota",
};
