import type { ReactElement } from "react";
import type { ApiKey } from "../../server/trpc.ts";
import { countOf } from "../../ui/count.ts";
import classes from "../../ui/dialog.module.css";
import { describeElapsed, describeExactly } from "../../ui/elapsed.ts";
import { useNow } from "../../ui/use-now.ts";

/** When a key was last used, for the dialogs that disable or delete it. */
export function LastUse({ apiKey }: { readonly apiKey: ApiKey }): ReactElement {
  const now = useNow();
  const lastUsedAt = apiKey.lastUsedAt === null ? undefined : new Date(apiKey.lastUsedAt);
  return (
    <dl className={classes.facts}>
      <dt>Key</dt>
      <dd>
        <code>{apiKey.start}…</code>
      </dd>
      <dt>Last used</dt>
      <dd>
        {lastUsedAt ? `${describeElapsed(lastUsedAt, now)} (${describeExactly(lastUsedAt)})` : "Never used"}
      </dd>
      {lastUsedAt && (
        <>
          <dt>Used</dt>
          <dd>{countOf(apiKey.usageCount, "time", "times")}</dd>
        </>
      )}
    </dl>
  );
}
