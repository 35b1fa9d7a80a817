import { restrictionLimits } from "@latchkey/limits";
import type { ApiKey, KeySettings, Permission } from "../../../server/trpc.ts";
import { formatCount } from "../../../ui/count.ts";
import { describeInvalidRanges } from "./ip-range-lines.ts";

/** The durations after which a key may be chosen to expire, by seconds. */
export const lifetimes = {
  "3600": "In 1 hour",
  "86400": "In 24 hours",
  "604800": "In 7 days",
  "2592000": "In 30 days",
  "7776000": "In 90 days",
} as const;

/** The windows of a limit that have a name, in seconds. */
export const namedWindows = { "1": "second", "60": "minute", "3600": "hour", "86400": "day" } as const;

type Expiry = "keep" | "never" | keyof typeof lifetimes | "date";

/** What a person says a key is to be held to, as the form holds it. */
export interface RestrictionValues {
  /** "keep" for the moment it expires at now. */
  readonly expiry: Expiry;
  /** As a field for a local date and time has it. */
  readonly expiryDate: string;
  readonly isReadOnly: boolean;
  /** Null for all. */
  readonly permissions: readonly Permission[] | null;
  /** Null for all. */
  readonly workspaceIds: readonly string[] | null;
  /** One a line. */
  readonly ipRanges: string;
  /** Empty for no limit. */
  readonly quota: string;
  readonly window: keyof typeof namedWindows | "other";
  /** For another window than those that have a name. */
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

/** What a new key begins with: a lifetime, so that a key that was forgotten stops working. */
export const suggestedRestrictions: RestrictionValues = { ...noRestrictions, expiry: "7776000" };

/** Combinations for common uses. */
export const templates = {
  custom: { label: "Custom", restrictions: () => suggestedRestrictions },
  "read-only": {
    label: "Read only",
    restrictions: () => ({ ...suggestedRestrictions, isReadOnly: true }),
  },
  "one-workspace": {
    label: "One workspace",
    restrictions: (workspaceId) => ({ ...suggestedRestrictions, workspaceIds: only(workspaceId) }),
  },
  "ci-job": {
    label: "CI job: one workspace, 30 days, rate limited",
    restrictions: (workspaceId) => ({
      ...suggestedRestrictions,
      expiry: "2592000",
      workspaceIds: only(workspaceId),
      quota: "100",
      window: "60",
    }),
  },
} as const satisfies Record<
  string,
  {
    readonly label: string;
    /** @param workspaceId the workspace that the user works in; undefined without one. */
    readonly restrictions: (workspaceId: string | undefined) => RestrictionValues;
  }
>;

export type TemplateName = keyof typeof templates;

function only(workspaceId: string | undefined): readonly string[] | null {
  return workspaceId === undefined ? null : [workspaceId];
}

/** What a key is restricted to now. */
export function readRestrictions(key: ApiKey): RestrictionValues {
  const windowSeconds = String(key.limit?.windowSeconds ?? 60);
  const isNamed = Object.hasOwn(namedWindows, windowSeconds);
  return {
    expiry: key.expiresAt ? "keep" : "never",
    expiryDate: "",
    isReadOnly: key.isReadOnly,
    permissions: key.permissions as Permission[] | null, // The catalogue's names, all of them.
    workspaceIds: key.workspaceIds,
    ipRanges: key.ipRanges?.join("\n") ?? "",
    quota: key.limit ? String(key.limit.quota) : "",
    window: isNamed ? (windowSeconds as keyof typeof namedWindows) : "other", // As was just asked.
    windowSeconds: isNamed ? "" : windowSeconds,
  };
}

const { maxQuota, maxWindowSeconds } = restrictionLimits;

/** What to do about each field, or null where it is good. */
export const restrictionRules = {
  expiryDate: (date: string, { expiry }: RestrictionValues): string | null => {
    if (expiry !== "date") return null;
    // The server decides whether it is in the future: the clock of a browser may be wrong.
    return Number.isNaN(new Date(date).getTime()) ? "Enter a date and a time." : null;
  },
  permissions: (permissions: readonly Permission[] | null): string | null =>
    permissions?.length === 0 ? "Select at least one permission, or all permissions." : null,
  workspaceIds: (ids: readonly string[] | null): string | null =>
    ids?.length === 0 ? "Select at least one workspace, or all workspaces." : null,
  ipRanges: (text: string): string | null => describeInvalidRanges(text),
  quota: (quota: string): string | null =>
    quota === "" || isWholeNumber(quota, maxQuota)
      ? null
      : `Enter a whole number from 1 to ${formatCount(maxQuota)}, or leave empty for no limit.`,
  windowSeconds: (seconds: string, { window, quota }: RestrictionValues): string | null =>
    quota === "" || window !== "other" || isWholeNumber(seconds, maxWindowSeconds)
      ? null
      : `Enter a whole number of seconds from 1 to ${formatCount(maxWindowSeconds)}, which is a day.`,
};

function isWholeNumber(text: string, max: number): boolean {
  return /^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= max;
}

/** The settings that differ between what was and what is wanted, as the API takes them. */
export function changedSettings(
  before: RestrictionValues,
  wanted: RestrictionValues,
): Omit<KeySettings, "isDisabled"> {
  const then = toSettings(before);
  const next = toSettings(wanted);
  const names = Object.keys(next) as RestrictionName[]; // The object's keys.
  return Object.fromEntries(
    names
      .filter((name) => JSON.stringify(then[name]) !== JSON.stringify(next[name]))
      .map((name) => [name, next[name]]),
  );
}

/** The settings that the values stand for, as the API takes them. */
export function toSettings(values: RestrictionValues): Omit<KeySettings, "isDisabled"> {
  const ipRanges = values.ipRanges.split(/[\s,]+/).filter((range) => range !== "");
  const seconds = Number(values.window === "other" ? values.windowSeconds : values.window);
  return {
    ...(values.expiry !== "keep" && { expiresAt: readExpiry(values) }),
    isReadOnly: values.isReadOnly,
    permissions: values.permissions && [...values.permissions].sort(),
    workspaceIds: values.workspaceIds && [...values.workspaceIds].sort(),
    ipRanges: ipRanges.length > 0 ? ipRanges : null,
    limit: values.quota === "" ? null : { quota: Number(values.quota), windowSeconds: seconds },
  };
}

/** A duration is sent as such, so that the server counts it from its own time. */
function readExpiry({ expiry, expiryDate }: RestrictionValues): NonNullable<KeySettings["expiresAt"]> | null {
  if (expiry === "never") return null;
  return expiry === "date" ? new Date(expiryDate).toISOString() : { inSeconds: Number(expiry) };
}

/** The field that an issue of the API is about: "settings.ipRanges.0" is about `ipRanges`. */
export function findRestrictionField(path: string): keyof RestrictionValues | undefined {
  const [name = ""] = path.replace(/^settings\./, "").split(".");
  return fieldBySetting[name as RestrictionName]; // Undefined for any other.
}

const fieldBySetting: Readonly<Record<RestrictionName, keyof RestrictionValues>> = {
  expiresAt: "expiryDate",
  isReadOnly: "isReadOnly",
  permissions: "permissions",
  workspaceIds: "workspaceIds",
  ipRanges: "ipRanges",
  limit: "quota",
};
