import { Skeleton } from "@mantine/core";
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactElement, type ReactNode, useContext } from "react";
import { type IssuedKey, type RecentUsage, trpc } from "../../server/trpc.ts";
import { countOf, formatCount } from "../../ui/count.ts";
import { EmptyCell } from "../../ui/empty-cell.tsx";
import { Sparkline } from "../../ui/sparkline.tsx";
import type { KeyspacePath } from "./use-keyspaces.ts";

type Usage = Omit<RecentUsage, "id">;

/** How long the usage of a page isn't loaded again, in milliseconds. */
const freshMs = 30_000;

/** The usage of keys by ID. */
type UsageById = Readonly<Record<string, Usage>>;

/** Undefined while the first keys load; null if their usage couldn't be loaded. */
const RecentUsageContext = createContext<UsageById | null | undefined>(undefined);

const days = 30;
const unused: Usage = { count: 0, useCount: 0, days: Array.from({ length: days }, () => 0) };

interface RecentUsageProviderProps {
  readonly path: KeyspacePath;
  /** The loaded pages of keys. */
  readonly pages: readonly { readonly items: readonly Pick<IssuedKey, "id">[] }[] | undefined;
  readonly children: ReactNode;
}

/**
 * Loads the usage of the keys of a table, for its cells. Each page costs one request, and only its own: those of the pages
 * before it are in the query cache.
 */
export function RecentUsageProvider({ path, pages = [], children }: RecentUsageProviderProps): ReactElement {
  const queryClient = useQueryClient();
  const idLists = pages.map(({ items }) => items.map(({ id }) => id).join(",")).filter((ids) => ids !== "");
  const query = useQuery({
    queryKey: ["recent-usage", path.keyspaceId, idLists],
    queryFn: async () => {
      const lists = await Promise.all(
        idLists.map((ids) =>
          queryClient.fetchQuery({
            ...trpc.keyspaceUsage.recent.queryOptions({ ...path, ids }),
            staleTime: freshMs,
          }),
        ),
      );
      return Object.fromEntries(
        idLists.flatMap((ids, index) => {
          const known = new Map(lists[index]?.map((usage) => [usage.id, usage]));
          return ids.split(",").map((id) => [id, known.get(id) ?? unused] as const);
        }),
      );
    },
    enabled: idLists.length > 0,
    placeholderData: keepPreviousData,
  });
  return (
    <RecentUsageContext value={query.data ?? (query.isError ? null : undefined)}>
      {children}
    </RecentUsageContext>
  );
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
