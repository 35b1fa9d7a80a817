import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import type { OverviewVerifications } from "../../server/trpc.ts";
import { countOf, formatCount } from "../../ui/count.ts";
import { titleOfKey } from "../../ui/issued-key-title.ts";
import lists from "../../ui/item-list.module.css";
import { ItemList } from "../../ui/item-list.tsx";
import { describeTimeLeft } from "../../ui/key-status.ts";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { Section } from "../../ui/section.tsx";
import { StatusBadge } from "../../ui/status-badge.tsx";
import type { UsageRange } from "../../ui/usage-ranges.ts";
import { useNow } from "../../ui/use-now.ts";
import { VerificationFigure } from "../../ui/verification-figure.tsx";
import classes from "./overview.module.css";

interface IssuedKeyListsProps {
  readonly issuedKeys: OverviewVerifications;
  /** Whether the busiest keys and consumers are those of another period, while those of `range` load. */
  readonly isOtherRange: boolean;
  readonly range: UsageRange;
  readonly slug: string;
}

/** The busiest issued keys and consumers of a workspace, and the issued keys that expire soon or are unused. */
export function IssuedKeyLists(props: IssuedKeyListsProps): ReactElement {
  const { issuedKeys, isOtherRange, range, slug } = props;
  const now = useNow();
  const { label } = range;
  const { keys, consumers, expiring, unused } = issuedKeys;
  return (
    <>
      <div className={lists.columns}>
        <Section title="Busiest issued keys" isBusy={isOtherRange}>
          <ItemList
            items={isOtherRange ? undefined : keys}
            empty={`No issued key was verified in the last ${label}.`}
            describe={({ name, start, count, useCount, ...key }) => ({
              id: key.id,
              name:
                name === null ? (
                  "Deleted key"
                ) : (
                  <KeyLink issuedKey={{ ...key, name, start: start ?? "" }} slug={slug} />
                ),
              detail: <Origin start={start} keyspace={key.keyspace.name} useCount={useCount} />,
              figure: <VerificationFigure count={count} />,
            })}
          />
        </Section>
        <Section title="Busiest consumers" isBusy={isOtherRange}>
          <ItemList
            items={isOtherRange ? undefined : consumers}
            empty={`No key of a consumer was verified in the last ${label}.`}
            describe={({ externalId, keyspace, count, useCount }) => ({
              id: `${keyspace.id} ${externalId}`,
              name: (
                <Link
                  className={lists.link}
                  to="/w/$slug/keyspaces/$keyspaceId/consumers/$externalId"
                  params={{ slug, keyspaceId: keyspace.id, externalId }}
                >
                  {externalId}
                </Link>
              ),
              detail: <Origin start={null} keyspace={keyspace.name} useCount={useCount} />,
              figure: <VerificationFigure count={count} />,
            })}
          />
        </Section>
      </div>
      <div className={lists.columns}>
        <Section title="Issued keys that expire within 30 days" action={<Total list={expiring} />}>
          <ItemList
            items={expiring.items}
            empty={
              expiring.isPartial
                ? "None of the next keys to expire is enabled."
                : "No issued key expires within 30 days."
            }
            describe={({ expiresAt, ...key }) => ({
              id: key.id,
              name: <KeyLink issuedKey={key} slug={slug} />,
              detail: <Origin start={key.start} keyspace={key.keyspace.name} />,
              figure: expiresAt && (
                <StatusBadge {...describeTimeLeft(Date.parse(expiresAt) - now.getTime())} />
              ),
            })}
          />
        </Section>
        <Section title="Unused issued keys" action={<Total list={unused} />}>
          <ItemList
            items={unused.items}
            empty={
              unused.isPartial
                ? "None of the oldest keys of each keyspace is unused. Newer keys weren’t examined, because there are too many."
                : "No unused keys. Keys that haven’t been used for 30 days appear here."
            }
            describe={({ lastUsedAt, createdAt, ...key }) => ({
              id: key.id,
              name: <KeyLink issuedKey={key} slug={slug} />,
              detail: <Origin start={key.start} keyspace={key.keyspace.name} />,
              figure: lastUsedAt ? (
                <>
                  Used <RelativeTime at={lastUsedAt} />
                </>
              ) : (
                <>
                  Never used, created <RelativeTime at={createdAt} />
                </>
              ),
            })}
          />
        </Section>
      </div>
    </>
  );
}

interface KeyLinkProps {
  readonly issuedKey: {
    readonly id: string;
    readonly name: string;
    readonly start: string;
    readonly keyspace: { readonly id: string };
  };
  readonly slug: string;
}

function KeyLink({ issuedKey, slug }: KeyLinkProps): ReactElement {
  return (
    <Link
      className={lists.link}
      to="/w/$slug/keyspaces/$keyspaceId/keys/$keyId"
      params={{ slug, keyspaceId: issuedKey.keyspace.id, keyId: issuedKey.id }}
    >
      {titleOfKey(issuedKey)}
    </Link>
  );
}

interface OriginProps {
  readonly start: string | null;
  readonly keyspace: string;
  readonly useCount?: number;
}

/** The first characters of a key, if they are known, its keyspace, and its uses. */
function Origin({ start, keyspace, useCount }: OriginProps): ReactNode {
  return (
    <>
      {start && (
        <>
          <code>{start}…</code> ·{" "}
        </>
      )}
      <bdi>{keyspace}</bdi>
      {useCount !== undefined && (
        <>
          {" "}
          · <span className={lists.unbroken}>{countOf(useCount, "use", "uses")}</span>
        </>
      )}
    </>
  );
}

/** How many keys there are in total, unless the list has all of them. */
function Total({ list }: { readonly list: OverviewVerifications["unused"] }): ReactElement | null {
  const { items, total, isPartial } = list;
  if (total <= items.length) return null;
  return (
    <span className={classes.total}>
      {isPartial ? "At least " : ""}
      {formatCount(total)} keys
    </span>
  );
}
