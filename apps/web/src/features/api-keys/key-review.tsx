import { useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { trpc } from "../../server/trpc.ts";
import classes from "./key-review.module.css";
import {
  describeLimit,
  describePermissions,
  describeRanges,
  describeRequestedExpiry,
  describeWorkspaces,
} from "./restrictions/describe-restrictions.ts";
import { type RestrictionValues, restrictionRules, toSettings } from "./restrictions/restriction-values.ts";

const app = getRouteApi("/app");

/** Summarizes what the key will be able to do with the current values of the form. */
export function KeyReview({
  values,
  hasOneWorkspace,
}: {
  readonly values: RestrictionValues;
  /** Whether the key belongs to a service account, which has one workspace. */
  readonly hasOneWorkspace: boolean;
}): ReactElement {
  const { workspaces } = app.useRouteContext().session;
  const { data: table } = useSuspenseQuery(trpc.instance.permissions.queryOptions());
  const { workspaceIds = null, ipRanges = null, limit = null, expiresAt = null } = readSettings(values);
  const isInvalid = (name: keyof typeof restrictionRules) =>
    restrictionRules[name](values[name] as never, values) !== null; // The rule of this field.
  return (
    <section className={classes.review} aria-label="Review">
      <h3 className={classes.title}>What this key will be able to do</h3>
      <dl className={classes.facts}>
        <dt>Permissions</dt>
        <dd>
          {values.permissions === null
            ? describePermissions({ permissions: null, isReadOnly: values.isReadOnly }, hasOneWorkspace)
            : describeSelection(values.permissions.length, table.length, values.isReadOnly, hasOneWorkspace)}
        </dd>
        {!hasOneWorkspace && (
          <>
            <dt>Workspaces</dt>
            <dd>
              <bdi>{describeWorkspaces(workspaceIds, workspaces) || "None selected"}</bdi>
            </dd>
          </>
        )}
        <dt>IP ranges</dt>
        <dd>{isInvalid("ipRanges") ? "Invalid IP ranges" : describeRanges(ipRanges)}</dd>
        <dt>Rate limit</dt>
        <dd>
          {isInvalid("quota") || isInvalid("windowSeconds") ? "Invalid rate limit" : describeLimit(limit)}
        </dd>
        <dt>Expires</dt>
        <dd>{isInvalid("expiryDate") ? "No date entered" : describeRequestedExpiry(expiresAt)}</dd>
      </dl>
    </section>
  );
}

function describeSelection(
  count: number,
  total: number,
  isReadOnly: boolean,
  isServiceAccount: boolean,
): string {
  if (count === 0) return "None selected";
  return `${isReadOnly ? "Read only, " : ""}${count} of ${total} permissions, if ${isServiceAccount ? "its" : "your"} role has them`;
}

/** Converts the values to settings and ignores an incomplete date or rate limit. */
function readSettings(values: RestrictionValues): ReturnType<typeof toSettings> {
  const hasDate = values.expiry !== "date" || !Number.isNaN(Date.parse(values.expiryDate));
  const hasLimit =
    Number(values.quota) > 0 && (values.window !== "other" || Number(values.windowSeconds) > 0);
  return toSettings({
    ...values,
    ...(!hasDate && { expiry: "never" }),
    ...(!hasLimit && { quota: "" }),
  });
}
