import { Skeleton } from "@mantine/core";
import { type UseQueryResult, useQueries } from "@tanstack/react-query";
import { createContext, type ReactElement, type ReactNode, useCallback, useContext } from "react";
import { type IssuedKey, type RecentUsage, trpc } from "../../server/trpc.ts";
import { countOf, formatCount } from "../../ui/count.ts";
import { EmptyCell } from "../../ui/empty-cell.tsx";
import { Sparkline } from "../../ui/sparkline.tsx";
import type { KeyspacePath } from "./use-keyspaces.ts";

type Usage = Omit<RecentUsage, "id">;

/** The usage of keys by ID; null if it couldn't be loaded. Keys whose usage is loading are absent. */
const RecentUsageContext = createContext<ReadonlyMap<string, Usage | null>>(new Map());

const days = 30;
const unused: Usage = { count: 0, useCount: 0, days: Array.from({ length: days }, () => 0) };

interface RecentUsageProviderProps {
  readonly path: KeyspacePath;
  /** The loaded pages of keys. Each page costs one request. */
  readonly pages: readonly { readonly items: readonly Pick<IssuedKey, "id">[] }[] | undefined;
  readonly children: ReactNode;
}

/** Loads the usage of the keys of a table, for the cells below it. */
export function RecentUsageProvider({ path, pages, children }: RecentUsageProviderProps): ReactElement {
  const combine = useCallback(
    (results: readonly UseQueryResult<readonly RecentUsage[], unknown>[]) => collect(pages ?? [], results),
    [pages],
  );
  const usage = useQueries({
    queries: (pages ?? []).map(({ items }) => ({
      ...trpc.keyspaceUsage.recent.queryOptions({ ...path, ids: items.map(({ id }) => id).join(",") }),
      enabled: items.length > 0,
    })),
    combine,
  });
  return <RecentUsageContext value={usage}>{children}</RecentUsageContext>;
}

function collect(
  pages: NonNullable<RecentUsageProviderProps["pages"]>,
  results: readonly UseQueryResult<readonly RecentUsage[], unknown>[],
): ReadonlyMap<string, Usage | null> {
  return new Map(
    pages.flatMap(({ items }, index) => {
      const { data, isError = false } = results[index] ?? {};
      if (!data && !isError) return [];
      const known = new Map(data?.map((usage) => [usage.id, usage]));
      return items.map(({ id }) => [id, data ? (known.get(id) ?? unused) : null] as const);
    }),
  );
}

/** The uses of a key in the last 30 days. */
export function RecentUses({ id }: Pick<IssuedKey, "id">): ReactElement {
  const usage = useContext(RecentUsageContext).get(id);
  if (usage === undefined) return <Skeleton component="span" display="inline-block" h={12} w={32} />;
  return usage === null ? <EmptyCell /> : <>{formatCount(usage.useCount)}</>;
}

/** The verifications of a key in the last 30 days, by day. */
export function RecentVerifications({ id }: Pick<IssuedKey, "id">): ReactElement {
  const usage = useContext(RecentUsageContext).get(id);
  if (usage === undefined) return <Skeleton component="span" display="block" h={21} w={89} />;
  if (usage === null) return <EmptyCell />;
  const label = `${countOf(usage.count, "verification", "verifications")} in ${days} days`;
  return <Sparkline label={label} values={usage.days} />;
}
