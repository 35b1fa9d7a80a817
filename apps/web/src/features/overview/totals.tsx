import { Skeleton } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";
import type { ApiKeySummary } from "../../server/trpc.ts";
import { formatCount } from "../../ui/count.ts";
import { RelativeTime } from "../../ui/relative-time.tsx";
import classes from "./totals.module.css";

/** The person's own keys in three figures. */
export function Totals({ progress }: { readonly progress: ApiKeySummary | undefined }): ReactElement {
  return (
    <dl className={classes.totals} aria-busy={!progress}>
      <Figure label="Your API keys">{progress && formatCount(progress.keyCount)}</Figure>
      <Figure label="Uses">{progress && formatCount(progress.usageCount)}</Figure>
      <Figure label="Last used">
        {progress && (progress.lastUsedAt ? <RelativeTime at={progress.lastUsedAt} /> : "never")}
      </Figure>
    </dl>
  );
}

interface FigureProps {
  readonly label: string;
  readonly children: ReactNode;
}

function Figure({ label, children }: FigureProps): ReactElement {
  return (
    <div className={classes.figure}>
      <dt className={classes.label}>{label}</dt>
      <dd className={classes.value}>{children ?? <Skeleton h={20} w={56} />}</dd>
    </div>
  );
}
