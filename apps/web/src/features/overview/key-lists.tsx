import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import type { OverviewKeys } from "../../server/trpc.ts";
import { formatCount } from "../../ui/count.ts";
import { hasKeyPage } from "../../ui/has-key-page.ts";
import lists from "../../ui/item-list.module.css";
import { ItemList } from "../../ui/item-list.tsx";
import { describeTimeLeft, type StatusFilter } from "../../ui/key-status.ts";
import { type NamedUser, OwnerName } from "../../ui/owner-name.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { Section } from "../../ui/section.tsx";
import { StatusBadge } from "../../ui/status-badge.tsx";
import type { UsageRange } from "../../ui/usage-ranges.ts";
import { useNow } from "../../ui/use-now.ts";
import classes from "./overview.module.css";

interface KeyListsProps {
  /** Undefined while they load. */
  readonly keys: OverviewKeys | undefined;
  /** Whether the busiest keys are those of another period, while those of `range` load. */
  readonly isOtherRange: boolean;
  readonly range: UsageRange;
  readonly slug: string;
  /** The ID of the reader. */
  readonly ownId: string;
}

/** The busiest keys of a workspace, those that expire soon, and those that are unused. */
export function KeyLists({ keys, isOtherRange, range, slug, ownId }: KeyListsProps): ReactElement {
  const now = useNow();
  const isOwn = keys?.isOwn ?? false;
  const busiest = isOtherRange ? undefined : keys?.busiest;
  return (
    <>
      <Section title={isOwn ? "Your busiest API keys" : "Busiest API keys"} isBusy={!busiest}>
        <ItemList
          items={busiest}
          empty={`${isOwn ? "No requests with your keys" : "No requests"} were allowed in the last ${range.label}.`}
          describe={(key) => ({
            id: key.id,
            name: key.isDeleted ? (
              nameOf(key)
            ) : (
              <KeyLink apiKey={key} slug={slug} ownId={ownId}>
                {nameOf(key)}
              </KeyLink>
            ),
            detail: describeKey(key),
            figure: (
              <>
                <span className={lists.strong}>{formatCount(key.count)}</span>{" "}
                {key.count === 1 ? "use" : "uses"}
              </>
            ),
          })}
        />
      </Section>
      <Section
        title={isOwn ? "Your API keys that expire within 30 days" : "API keys that expire within 30 days"}
        action={<ShowAll slug={slug} status="expiring" list={keys?.expiring} />}
      >
        <ItemList
          items={keys?.expiring.items}
          empty="No key expires within 30 days."
          describe={(key) => ({
            id: key.id,
            name: (
              <KeyLink apiKey={key} slug={slug} ownId={ownId}>
                {key.name}
              </KeyLink>
            ),
            detail: describeKey(key),
            figure: key.expiresAt && (
              <StatusBadge {...describeTimeLeft(Date.parse(key.expiresAt) - now.getTime())} />
            ),
          })}
        />
      </Section>
      <Section
        title={isOwn ? "Your unused API keys" : "Unused API keys"}
        action={<ShowAll slug={slug} status="unused" list={keys?.unused} />}
      >
        <ItemList
          items={keys?.unused.items}
          empty="No unused keys. Keys that haven’t been used for 30 days appear here."
          describe={(key) => ({
            id: key.id,
            name: (
              <KeyLink apiKey={key} slug={slug} ownId={ownId}>
                {key.name}
              </KeyLink>
            ),
            detail: describeKey(key),
            figure: key.lastUsedAt ? (
              <>
                Used <RelativeTime at={key.lastUsedAt} />
              </>
            ) : (
              <>
                Not used here recently, created <RelativeTime at={key.createdAt} />
              </>
            ),
          })}
        />
      </Section>
    </>
  );
}

/** A key that can no longer reach the workspace has no name here. */
function nameOf({ name, isDeleted }: OverviewKeys["busiest"][number]): string {
  if (name === null) return "Former API key";
  return isDeleted ? `${name} (deleted)` : name;
}

interface KeyLinkProps {
  readonly apiKey: {
    readonly id: string;
    readonly start: string | null;
    readonly owner: NamedUser & { readonly id: string };
  };
  readonly slug: string;
  readonly ownId: string;
  readonly children: string;
}

/** Opens the key, or its row among the workspace's keys, if its page is only for its owner. */
function KeyLink({ apiKey: { id, start, owner }, slug, ownId, children }: KeyLinkProps): ReactNode {
  if (start === null) return children;
  if (hasKeyPage({ owner }, ownId)) {
    return (
      <Link className={lists.link} to="/account/api-keys/$keyId" params={{ keyId: id }}>
        {children}
      </Link>
    );
  }
  return (
    <Link className={lists.link} to="/w/$slug/api-keys" params={{ slug }} search={{ q: start }}>
      {children}
    </Link>
  );
}

function describeKey({
  start,
  owner,
}: {
  /** Null for a key that can no longer reach the workspace. */
  readonly start: string | null;
  readonly owner: NamedUser;
}): ReactNode {
  return (
    <>
      {start !== null && (
        <>
          <code>{start}…</code> ·{" "}
        </>
      )}
      <OwnerName {...owner} />
    </>
  );
}

interface ShowAllProps {
  readonly slug: string;
  readonly status: StatusFilter;
  readonly list: { readonly items: readonly unknown[]; readonly total: number } | undefined;
}

/** A link to all keys with the status. Renders nothing if the overview lists all of them. */
function ShowAll({ slug, status, list }: ShowAllProps): ReactElement | null {
  if (!list || list.total <= list.items.length) return null;
  return (
    <Link className={classes.more} to="/w/$slug/api-keys" params={{ slug }} search={{ status }}>
      Show all {formatCount(list.total)} keys
    </Link>
  );
}
