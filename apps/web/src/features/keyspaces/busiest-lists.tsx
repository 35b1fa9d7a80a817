import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { BusiestOfKeyspace } from "../../server/trpc.ts";
import { countOf } from "../../ui/count.ts";
import { titleOfKey } from "../../ui/issued-key-title.ts";
import lists from "../../ui/item-list.module.css";
import { ItemList } from "../../ui/item-list.tsx";
import { Section } from "../../ui/section.tsx";
import { VerificationFigure } from "../../ui/verification-figure.tsx";
import { ConsumerLink } from "./consumer-link.tsx";

interface BusiestListsProps {
  /** Undefined while they load. */
  readonly busiest: BusiestOfKeyspace | undefined;
  readonly slug: string;
  readonly keyspaceId: string;
  /** The period, such as "24 hours". */
  readonly label: string;
}

/** The keys, consumers and tags of a keyspace with the most verifications. */
export function BusiestLists({ busiest, slug, keyspaceId, label }: BusiestListsProps): ReactElement {
  const params = { slug, keyspaceId };
  return (
    <>
      <div className={lists.columns}>
        <Section title="Busiest keys" isBusy={!busiest}>
          <ItemList
            items={busiest?.keys}
            empty={`No key was verified in the last ${label}.`}
            describe={({ id, name, start, count, useCount }) => ({
              id,
              name:
                name === null ? (
                  "Deleted key"
                ) : (
                  <Link
                    className={lists.link}
                    to="/w/$slug/keyspaces/$keyspaceId/keys/$keyId"
                    params={{ ...params, keyId: id }}
                  >
                    {titleOfKey({ id, name, start: start ?? "" })}
                  </Link>
                ),
              detail: (
                <>
                  {start ? <code>{start}…</code> : <code>{id}</code>} ·{" "}
                  <span className={lists.unbroken}>{countOf(useCount, "use", "uses")}</span>
                </>
              ),
              figure: <VerificationFigure count={count} />,
            })}
          />
        </Section>
        <Section title="Busiest consumers" isBusy={!busiest}>
          <ItemList
            items={busiest?.consumers}
            empty={`No key of a consumer was verified in the last ${label}.`}
            describe={({ externalId, count, useCount }) => ({
              id: externalId,
              name: <ConsumerLink {...params} externalId={externalId} className={lists.link} />,
              detail: countOf(useCount, "use", "uses"),
              figure: <VerificationFigure count={count} />,
            })}
          />
        </Section>
      </div>
      <Section title="Verifications by tag" isBusy={!busiest}>
        <ItemList
          items={busiest?.tags}
          empty={`No verification in the last ${label} had tags. A service can tag a verification, for example with a region or an endpoint.`}
          describe={({ tag, count, useCount }) => ({
            id: tag,
            // At most 100 tags are counted by name per hour.
            name: tag === "(other)" ? "Other tags" : tag,
            detail: countOf(useCount, "use", "uses"),
            figure: <VerificationFigure count={count} />,
          })}
        />
      </Section>
    </>
  );
}
