import type { ReactElement } from "react";
import type { AffectedKey } from "../../server/trpc.ts";
import { countOf } from "../../ui/count.ts";
import { LastUseHour } from "../../ui/last-use-hour.tsx";
import classes from "./key-impact.module.css";

interface KeyProps {
  readonly apiKey: AffectedKey;
}

export function KeyName({ apiKey: { name, start } }: KeyProps): ReactElement {
  return (
    <span className={classes.name}>
      <bdi>{name}</bdi> <code>{start}…</code>
    </span>
  );
}

/** How much a key is used here. */
export function KeyUses({ apiKey }: KeyProps): ReactElement {
  const { lastUsedAt } = apiKey;
  return (
    <>
      {describeUses(apiKey)}
      {lastUsedAt !== null && (
        <>
          , last used <LastUseHour startsAt={lastUsedAt} />
        </>
      )}
      .
    </>
  );
}

/** How much a key is used here, and which permissions it loses. After a removal, it has none. */
export function KeyEffect({ apiKey, isRemoval }: KeyProps & { readonly isRemoval: boolean }): ReactElement {
  return (
    <>
      <KeyUses apiKey={apiKey} />
      {!isRemoval && ` No longer allowed: ${apiKey.stoppedPermissions.join(", ")}.`}
    </>
  );
}

/** Whether the key loses a permission if the member is changed. */
export function isAffected({ stoppedPermissions }: AffectedKey): boolean {
  return stoppedPermissions.length > 0;
}

function describeUses({ recentUses }: AffectedKey): string {
  return recentUses === 0
    ? "Not used here in 30 days"
    : `${countOf(recentUses, "use", "uses")} here in 30 days`;
}
