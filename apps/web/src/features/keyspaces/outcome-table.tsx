import { Skeleton } from "@mantine/core";
import type { ReactElement } from "react";
import { formatCount } from "../../ui/count.ts";
import { outcomeTitle } from "../../ui/outcome-titles.ts";
import { Section } from "../../ui/section.tsx";
import type { UsageRow } from "../../ui/usage-buckets.ts";
import { outcomeMeanings } from "./outcome-meanings.ts";
import classes from "./outcome-table.module.css";

/** How many verifications had each outcome, and what the outcomes mean. @param rows undefined while they load. */
export function OutcomeTable({ rows }: { readonly rows: readonly UsageRow[] | undefined }): ReactElement {
  const counts = new Map<string, number>();
  for (const { outcome, count } of rows ?? []) counts.set(outcome, (counts.get(outcome) ?? 0) + count);
  return (
    <Section title="Outcomes" isWide isBusy={!rows}>
      <dl className={classes.outcomes}>
        {outcomeMeanings.map(([outcome, meaning]) => (
          <div key={outcome} data-empty={!counts.has(outcome) || undefined}>
            <dt>
              {outcomeTitle(outcome)} <code>{outcome}</code>
            </dt>
            <dd>{meaning}</dd>
            <dd className={classes.count}>
              {rows ? formatCount(counts.get(outcome) ?? 0) : <Skeleton h={12} w={40} ml="auto" />}
            </dd>
          </div>
        ))}
      </dl>
      <p className={classes.note}>
        Verifications of unknown and deleted keys have the code <code>NOT_FOUND</code>. They belong to no
        keyspace, so they aren’t counted.
      </p>
    </Section>
  );
}
