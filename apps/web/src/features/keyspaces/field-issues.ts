import type { UseFormReturnType } from "@mantine/form";
import { useEffect, useEffectEvent } from "react";
import { describeFailure, type Failure } from "../../server/failure.ts";
import { hasIssueOf, showIssues } from "../../server/show-issues.ts";
import type { IssuedKeyValues } from "./issued-key-values.ts";
import type { KeyspaceValues } from "./keyspace-values.ts";
import type { ConsumerValues } from "./limit-values.ts";

/**
 * Shows the field errors of a rejected call under the fields, as soon as it was rejected.
 * @returns the failure to show as a whole, if it has no error of a field.
 */
export function useFieldIssues<Values extends IssuedKeyValues | KeyspaceValues | ConsumerValues>(
  form: UseFormReturnType<Values>,
  error: unknown,
): Failure | undefined {
  const show = useEffectEvent((rejection: unknown) => showIssues(form, rejection, fieldOfPath));
  useEffect(() => {
    if (error) show(error);
  }, [error]);
  if (!error) return undefined;
  const failure = describeFailure(error);
  return hasIssueOf(form, failure, fieldOfPath) ? undefined : failure;
}

/** The fields whose names differ from those of the API. A form may not have all of them. */
const renamed: Readonly<Record<string, string>> = {
  defaultLifetimeDays: "lifetimeDays",
  defaultPermissions: "permissions",
  "defaultCredits.refill.amount": "refillAmount",
  "defaultCredits.refill.day": "refillDay",
  defaultCredits: "credits",
  "credits.refill.amount": "refillAmount",
  "credits.refill.day": "refillDay",
};

/** Returns the field in which the value at a path such as "fields.meta.plan" or "changes.name" is entered. */
export function fieldOfPath(
  path: string,
  values: Partial<IssuedKeyValues> & Partial<KeyspaceValues>,
): string | undefined {
  const inside = path.replace(/^(?:fields|changes)\./, "");
  const [first = ""] = inside.split(".");
  if (first === "expiresAt") return values.expiry === "date" ? "expiryDate" : "expiry";
  if (first === "limits" || first === "defaultLimits") return fieldOfLimit(inside, values);
  const field = renamed[inside] ?? renamed[first] ?? first;
  return Object.hasOwn(values, field) ? field : undefined;
}

/** A window is chosen by name, or entered in seconds. */
function fieldOfLimit(
  inside: string,
  { limits = [] }: Partial<Pick<KeyspaceValues, "limits">>,
): string | undefined {
  const [, index = "", part = "name"] = inside.split(".");
  const limit = limits[Number(index)];
  if (index === "" || !limit) return undefined;
  return `limits.${index}.${part === "windowSeconds" && limit.window !== "other" ? "window" : part}`;
}
