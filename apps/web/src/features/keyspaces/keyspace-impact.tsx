import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { trpc } from "../../server/trpc.ts";
import classes from "../../ui/dialog.module.css";
import { describeImpact } from "./describe-keys.ts";
import { LastUse } from "./last-use.tsx";
import type { KeyspacePath } from "./use-keyspaces.ts";

/** Loads which keys stop working if a keyspace is disabled or deleted. A dialog that opens again loads them again. */
export function useKeyspaceImpact(path: KeyspacePath) {
  return useQuery(trpc.keyspaces.previewDeletion.queryOptions(path, { staleTime: 0 }));
}

interface KeyspaceImpactProps {
  /** Undefined until it has loaded. */
  readonly impact: ReturnType<typeof useKeyspaceImpact>["data"];
}

/** How many keys there are, how many of them are active, and when one was last used. */
export function KeyspaceImpact({ impact }: KeyspaceImpactProps): ReactElement {
  return (
    <dl className={classes.facts}>
      <dt>Keys</dt>
      <dd>{impact ? describeImpact(impact) : <Skeleton h={20} w={160} />}</dd>
      <dt>Last used</dt>
      <dd>
        {impact?.isPartial && "Newest 10,000 keys: "}
        {!impact && <Skeleton h={20} w={200} />}
        {impact &&
          (impact.isPartial && !impact.lastUsedAt ? "never used" : <LastUse at={impact.lastUsedAt} />)}
      </dd>
    </dl>
  );
}
