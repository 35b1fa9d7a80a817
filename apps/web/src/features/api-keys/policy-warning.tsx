import { Button } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { trpc } from "../../server/trpc.ts";
import { countOf } from "../../ui/count.ts";
import { describeRule } from "../../ui/describe-violation.ts";
import { lifetimes } from "../../ui/lifetimes.ts";
import { Quoted } from "../../ui/quoted.tsx";
import { toPolicySettings } from "./policy-settings.ts";
import classes from "./policy-warning.module.css";
import { type RestrictionValues, restrictionRules } from "./restrictions/restriction-values.ts";
import { suggestLifetime } from "./restrictions/suggest-lifetime.ts";
import type { RestrictionForm } from "./restrictions/use-restriction-form.ts";

/** How long the form waits for more input before it asks the server, in milliseconds. */
const waitMs = 300;
/** The most workspaces that are named. */
const maxNamed = 3;

interface PolicyWarningProps {
  readonly form: RestrictionForm;
  /** The only workspace of the service account that the key belongs to; undefined for a person's key. */
  readonly onlyWorkspaceId?: string | undefined;
}

/**
 * Warns that workspaces would reject the key with the current values of the form, because of what they require. Offers the
 * longest lifetime that they allow.
 */
export function PolicyWarning({ form, onlyWorkspaceId }: PolicyWarningProps): ReactElement {
  const [values] = useDebouncedValue(form.values, waitMs);
  const isComplete = isValid(values);
  const { data = [] } = useQuery({
    ...trpc.apiKeys.checkPolicies.queryOptions({
      settings: isComplete ? toPolicySettings(values, onlyWorkspaceId) : {},
    }),
    enabled: isComplete,
    placeholderData: keepPreviousData,
    // Fails for a date in the past, which the form reports when it is sent.
    retry: false,
  });
  const lifetime = suggestLifetime(data);
  const needsRanges = data.some(({ violation }) => violation === "ip-ranges-required");
  return (
    <div role="status">
      {data.length > 0 && (
        <div className={classes.warning}>
          {data.slice(0, maxNamed).map(({ workspace, violation, policy }) => (
            <p key={workspace.id}>
              <Quoted>{workspace.name}</Quoted> would reject this key: there, keys{" "}
              {describeRule(violation, policy)}.
            </p>
          ))}
          {data.length > maxNamed && (
            <p>So would {countOf(data.length - maxNamed, "more workspace", "more workspaces")}.</p>
          )}
          {lifetime && (
            <Button variant="default" size="xs" onClick={() => form.setFieldValue("expiry", lifetime)}>
              Let it expire {lifetimes[lifetime].toLowerCase()}
            </Button>
          )}
          {needsRanges && <p>Enter IP ranges under “Restrictions”.</p>}
        </div>
      )}
    </div>
  );
}

/** Whether the settings can be sent. Incomplete values keep the previous warning. */
function isValid(values: RestrictionValues): boolean {
  return (
    restrictionRules.expiryDate(values.expiryDate, values) === null &&
    restrictionRules.workspaceIds(values.workspaceIds) === null &&
    restrictionRules.ipRanges(values.ipRanges) === null
  );
}
