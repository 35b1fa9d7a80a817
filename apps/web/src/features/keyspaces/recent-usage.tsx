import { Skeleton } from "@mantine/core";
import type { QueryClient } from "@tanstack/react-query";
import { createContext, type ReactElement, type ReactNode, useContext } from "react";
import { type IssuedKey, type RecentUsage, trpc } from "../../server/trpc.ts";
import { countOf, formatCount } from "../../ui/count.ts";
import { EmptyCell } from "../../ui/empty-cell.tsx";
import { Sparkline } from "../../ui/sparkline.tsx";
import type { KeyspacePath } from "./use-keyspaces.ts";
import { freshMs, type StatisticsById, usePageStatistics } from "./use-page-statistics.ts";

type Usage = Omit<RecentUsage, "id">;

/** Undefined while the first keys load; null if their usage couldn't be loaded. */
const RecentUsageContext = createContext<StatisticsById<Usage> | null | undefined>(undefined);

const days = 30;
const queryName = "recent-usage";
const unused: Usage = { count: 0, useCount: 0, days: Array.from({ length: days }, () => 0) };

interface RecentUsageProviderProps {
  readonly path: KeyspacePath;
  /** The loaded pages of keys. */
  readonly pages: readonly { readonly items: readonly Pick<IssuedKey, "id">[] }[] | undefined;
  readonly children: ReactNode;
}

/** Loads the usage of the keys of a table, for its cells. */
export function RecentUsageProvider({ path, pages, children }: RecentUsageProviderProps): ReactElement {
  const usage = usePageStatistics<Usage>({
    queryKey: [queryName, path.keyspaceId],
    pages,
    load: (queryClient, ids) =>
      queryClient.fetchQuery({
        ...trpc.keyspaceUsage.recent.queryOptions({ ...path, ids }),
        staleTime: freshMs,
      }),
    empty: unused,
  });
  return <RecentUsageContext value={usage}>{children}</RecentUsageContext>;
}

/** Loads the shown usage of keys again. */
export async function refreshRecentUsage(queryClient: QueryClient): Promise<void> {
  // The queries of tables read those of pages, which must be stale by then.
  await queryClient.invalidateQueries({ queryKey: trpc.keyspaceUsage.recent.pathKey() });
  await queryClient.invalidateQueries({ queryKey: [queryName] });
}

function useRecentUsage(id: string): Usage | null | undefined {
  const usage = useContext(RecentUsageContext);
  return usage === null ? null : usage?.[id];
}

/** The uses of a key in the last 30 days. */
export function RecentUses({ id }: Pick<IssuedKey, "id">): ReactNode {
  const usage = useRecentUsage(id);
  if (usage === undefined) return <Skeleton component="span" display="inline-block" h={12} w={32} />;
  return usage === null ? <EmptyCell /> : formatCount(usage.useCount);
}

/** The verifications of a key in the last 30 days, by day. */
export function RecentVerifications({ id }: Pick<IssuedKey, "id">): ReactElement {
  const usage = useRecentUsage(id);
  if (usage === undefined) return <Skeleton component="span" display="block" h={21} w={89} />;
  if (usage === null) return <EmptyCell />;
  const label = `${countOf(usage.count, "verification", "verifications")} in ${days} days`;
  return <Sparkline label={label} values={usage.days} />;
}
