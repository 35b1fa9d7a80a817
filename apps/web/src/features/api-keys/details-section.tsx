import type { ReactElement } from "react";
import type { ApiKey } from "../../server/trpc.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { formatCount } from "../../ui/count.ts";
import { RelativeTime } from "../../ui/relative-time.tsx";
import classes from "../../ui/section.module.css";
import { Section } from "../../ui/section.tsx";

export function DetailsSection({ apiKey }: { readonly apiKey: ApiKey }): ReactElement {
  const { id, start, createdAt, lastUsedAt, usageCount } = apiKey;
  return (
    <Section title="Details">
      <dl className={classes.facts}>
        <dt>Key</dt>
        <dd>
          <code>{start}…</code>
        </dd>
        <dt>ID</dt>
        <dd>
          <code>{id}</code>
          <CopyButton text={id} label="Copy key ID" />
        </dd>
        <dt>Created</dt>
        <dd>
          <RelativeTime at={createdAt} />
        </dd>
        <dt>Last used</dt>
        <dd>{lastUsedAt ? <RelativeTime at={lastUsedAt} /> : "Never"}</dd>
        <dt>Uses</dt>
        <dd>{formatCount(usageCount)}</dd>
      </dl>
    </Section>
  );
}
