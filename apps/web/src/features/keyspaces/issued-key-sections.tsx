import { Button } from "@mantine/core";
import { Fragment, type ReactElement, type ReactNode } from "react";
import type { IssuedKey, IssuedKeyFields, SessionWorkspace } from "../../server/trpc.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { formatCount } from "../../ui/count.ts";
import { describeExactly } from "../../ui/elapsed.ts";
import { EmptyCell } from "../../ui/empty-cell.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import sectionClasses from "../../ui/section.module.css";
import { Section } from "../../ui/section.tsx";
import { ConsumerLink } from "./consumer-link.tsx";
import { describeCredits } from "./credits-values.ts";
import classes from "./keyspaces.module.css";
import { describeNamedLimit } from "./limit-values.ts";

interface SectionProps {
  readonly workspace: SessionWorkspace;
  readonly issuedKey: IssuedKey;
}

interface Fact {
  readonly label: string;
  readonly value: ReactNode;
}

/** What a key may do, and for whom. */
export function SettingsSection({
  workspace,
  issuedKey,
  canManage,
  onChangeCredits,
}: SectionProps & { readonly canManage: boolean; readonly onChangeCredits: () => void }): ReactElement {
  const { externalId, permissions, expiresAt, ipRanges, limits, credits, meta, keyspaceId } = issuedKey;
  // The title of the page is the name.
  const facts: Readonly<Record<Exclude<keyof IssuedKeyFields, "name">, Fact>> = {
    externalId: {
      label: "Consumer",
      value:
        externalId === null ? (
          <EmptyCell />
        ) : (
          <>
            <ConsumerLink {...{ slug: workspace.slug, keyspaceId, externalId }} />
            <CopyButton text={externalId} label="Copy external ID" />
          </>
        ),
    },
    permissions: { label: "Permissions", value: <Lines items={permissions} isCode /> },
    expiresAt: {
      label: "Expires",
      value: expiresAt === null ? "Never expires" : describeExactly(new Date(expiresAt)),
    },
    ipRanges: { label: "IP ranges", value: ipRanges ? <Lines items={ipRanges} isCode /> : "Any IP address" },
    limits: { label: "Rate limits", value: <Lines items={limits.map(describeNamedLimit)} /> },
    credits: {
      label: "Credits",
      value: (
        <div className={classes.credits}>
          {credits ? describeCredits(credits) : "Unlimited"}
          {canManage && credits && (
            <Button variant="subtle" color="gray" size="xs" px={8} onClick={onChangeCredits}>
              Change balance
            </Button>
          )}
        </div>
      ),
    },
    meta: {
      label: "Metadata",
      value:
        Object.keys(meta).length === 0 ? (
          <EmptyCell />
        ) : (
          <pre className={classes.json}>{JSON.stringify(meta, null, 2)}</pre>
        ),
    },
  };
  return (
    <Section title="Settings">
      <dl className={sectionClasses.facts}>
        {Object.entries(facts).map(([field, { label, value }]) => (
          <Fragment key={field}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
      </dl>
    </Section>
  );
}

function Lines({
  items,
  isCode,
}: {
  readonly items: readonly string[];
  readonly isCode?: boolean;
}): ReactNode {
  if (items.length === 0) return <EmptyCell />;
  return (
    <span className={classes.lines}>
      {items.map((item) => (isCode ? <code key={item}>{item}</code> : <span key={item}>{item}</span>))}
    </span>
  );
}

export function DetailsSection({ issuedKey }: Pick<SectionProps, "issuedKey">): ReactElement {
  const { id, createdAt, lastUsedAt, usageCount } = issuedKey;
  return (
    <Section title="Details">
      <dl className={sectionClasses.facts}>
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
