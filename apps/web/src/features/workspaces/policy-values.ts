import { policyLimits } from "@latchkey/limits";
import type { ApiKeyPolicy, PolicyChanges } from "../../server/trpc.ts";
import { readerLocale } from "../../ui/elapsed.ts";
import { isWholeNumber } from "../../ui/whole-number.ts";

/** The values of the form for a policy. Days are empty for no limit. */
export interface PolicyValues {
  readonly isExpiryRequired: boolean;
  readonly maxLifetimeDays: string;
  readonly areIpRangesRequired: boolean;
  readonly maxIdleDays: string;
}

export function policyValuesOf(policy: ApiKeyPolicy): PolicyValues {
  return {
    isExpiryRequired: policy.isExpiryRequired,
    maxLifetimeDays: policy.maxLifetimeDays?.toString() ?? "",
    areIpRangesRequired: policy.areIpRangesRequired,
    maxIdleDays: policy.maxIdleDays?.toString() ?? "",
  };
}

/** Validates each field. Returns the error to show, or null if the value is valid. */
export const policyFormRules = {
  maxLifetimeDays: (text: string): string | null => describeDaysError(text, policyLimits.maxLifetimeDays),
  maxIdleDays: (text: string): string | null => describeDaysError(text, policyLimits.maxIdleDays),
};

function describeDaysError(text: string, max: number): string | null {
  if (text.trim() === "" || isWholeNumber(text, { min: 1, max })) return null;
  return `Enter a whole number of days from 1 to ${max.toLocaleString(readerLocale())}, or leave empty for no limit.`;
}

/** The members of the policy that differ from the values of the form, as the API expects them. */
export function policyChangesBetween(policy: ApiKeyPolicy, values: PolicyValues): PolicyChanges {
  const next = {
    isExpiryRequired: values.isExpiryRequired,
    maxLifetimeDays: readDays(values.maxLifetimeDays),
    areIpRangesRequired: values.areIpRangesRequired,
    maxIdleDays: readDays(values.maxIdleDays),
  };
  const names = Object.keys(next) as (keyof typeof next)[]; // The object's keys.
  return Object.fromEntries(
    names.filter((name) => next[name] !== policy[name]).map((name) => [name, next[name]]),
  );
}

function readDays(text: string): number | null {
  return text.trim() === "" ? null : Number(text);
}
