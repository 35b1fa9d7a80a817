import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";

/** How long the statistics of a page stay fresh in the query cache, in milliseconds. */
export const freshMs = 30_000;

/** The statistics of the items of a table, by ID. */
export type StatisticsById<Statistics> = Readonly<Record<string, Statistics>>;

interface PageStatisticsOptions<Statistics> {
  readonly queryKey: readonly string[];
  /** The loaded pages of items. */
  readonly pages: readonly { readonly items: readonly { readonly id: string }[] }[] | undefined;
  /** Loads the statistics of the items of a page, whose IDs are separated by commas, through the query cache. */
  readonly load: (
    queryClient: ReturnType<typeof useQueryClient>,
    ids: string,
  ) => Promise<readonly (Statistics & { readonly id: string })[]>;
  /** The statistics of an item that the response leaves out. */
  readonly empty: Statistics;
}

/**
 * Loads the statistics of the items of a table. Each loaded page costs one request, because the statistics of earlier
 * pages are in the query cache. Returns undefined while the first items load, and null if their statistics couldn't be loaded.
 */
export function usePageStatistics<Statistics>({
  queryKey,
  pages = [],
  load,
  empty,
}: PageStatisticsOptions<Statistics>): StatisticsById<Statistics> | null | undefined {
  const queryClient = useQueryClient();
  const idLists = pages.map(({ items }) => items.map(({ id }) => id).join(",")).filter((ids) => ids !== "");
  const query = useQuery({
    queryKey: [...queryKey, idLists],
    queryFn: async () => {
      const lists = await Promise.all(idLists.map((ids) => load(queryClient, ids)));
      return Object.fromEntries(
        idLists.flatMap((ids, index) => {
          const known = new Map(lists[index]?.map((item) => [item.id, item]));
          return ids.split(",").map((id): [string, Statistics] => [id, known.get(id) ?? empty]);
        }),
      );
    },
    enabled: idLists.length > 0,
    placeholderData: keepPreviousData,
  });
  return query.data ?? (query.isError ? null : undefined);
}
