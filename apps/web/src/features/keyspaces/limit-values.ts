import { issuedKeyLimits, maxLength } from "@latchkey/limits";
import type { IssuedKey } from "../../server/trpc.ts";
import { formatCount } from "../../ui/count.ts";
import { describeLengthError } from "../../ui/describe-length-error.ts";
import { isWholeNumber } from "../../ui/whole-number.ts";

type NamedLimit = IssuedKey["limits"][number];

/** The windows to choose from, by length in seconds. */
export const namedWindows = {
  "1": "second",
  "60": "minute",
  "3600": "hour",
  "86400": "day",
  "2592000": "30 days",
} as const;

/** The values of the fields of one rate limit. */
export interface LimitValues {
  /** Identifies the row of fields while rows are added and removed. */
  readonly id: string;
  readonly name: string;
  readonly quota: string;
  readonly window: keyof typeof namedWindows | "other";
  /** The length of the window in seconds, if `window` is "other". */
  readonly windowSeconds: string;
  readonly appliesAlways: boolean;
}

/** The values of the form of the limits of a consumer. */
export interface ConsumerValues {
  readonly limits: readonly LimitValues[];
}

/** A limit to fill in. The first one gets a name. */
export function emptyLimit(id: string, isFirst: boolean): LimitValues {
  const name = isFirst ? "requests" : "";
  return { id, name, quota: "", window: "60", windowSeconds: "", appliesAlways: true };
}

export function readLimits(limits: readonly NamedLimit[]): LimitValues[] {
  return limits.map(({ name, quota, windowSeconds, appliesAlways }) => {
    const seconds = String(windowSeconds);
    const isNamed = Object.hasOwn(namedWindows, seconds);
    return {
      id: name,
      name,
      quota: String(quota),
      window: isNamed ? (seconds as keyof typeof namedWindows) : "other", // Checked above.
      windowSeconds: isNamed ? "" : seconds,
      appliesAlways,
    };
  });
}

export function toLimits(limits: readonly LimitValues[]): NamedLimit[] {
  return limits.map(({ name, quota, window, windowSeconds, appliesAlways }) => ({
    name: name.trim(),
    quota: Number(quota),
    windowSeconds: Number(window === "other" ? windowSeconds : window),
    appliesAlways,
  }));
}

const { maxQuota, maxWindowSeconds } = issuedKeyLimits;

/** Validates each field of each limit. Returns the error to show, or null if the value is valid. */
export const limitRules = {
  name: (text: string, { limits }: { readonly limits: readonly LimitValues[] }): string | null => {
    const name = text.trim();
    if (!/^[a-z0-9_-]+$/.test(name)) return "Use lower-case letters, digits, underscores and hyphens.";
    if (limits.filter((other) => other.name.trim() === name).length > 1) return "Use each name once.";
    return describeLengthError(name, maxLength.limitName);
  },
  quota: (quota: string): string | null =>
    isWholeNumber(quota, { min: 1, max: maxQuota })
      ? null
      : `Enter a whole number from 1 to ${formatCount(maxQuota)}.`,
  windowSeconds: (
    seconds: string,
    { limits }: { readonly limits: readonly LimitValues[] },
    path: string,
  ): string | null => {
    const limit = limits[Number(path.split(".")[1])];
    return limit?.window !== "other" || isWholeNumber(seconds, { min: 1, max: maxWindowSeconds })
      ? null
      : `Enter a whole number from 1 to ${formatCount(maxWindowSeconds)} (30 days).`;
  },
};

/** A limit in words: "requests: 100 per minute", "exports: 5 per 90 seconds, only when named". */
export function describeNamedLimit({ name, quota, windowSeconds, appliesAlways }: NamedLimit): string {
  const window = Object.hasOwn(namedWindows, String(windowSeconds))
    ? namedWindows[String(windowSeconds) as keyof typeof namedWindows] // Checked above.
    : `${formatCount(windowSeconds)} seconds`;
  return `${name}: ${formatCount(quota)} per ${window}${appliesAlways ? "" : ", only when named"}`;
}
