import type { DataTag, QueryClient, QueryKey } from "@tanstack/react-query";

/**
 * Replaces the data of a query that is read again while it is shown. First cancels a call in flight, whose response can be
 * from before the change and would replace the new data.
 */
export async function replaceData<Data>(
  queryClient: QueryClient,
  queryKey: DataTag<QueryKey, Data, unknown>,
  data: NoInfer<Data>,
): Promise<void> {
  await queryClient.cancelQueries({ queryKey });
  queryClient.setQueryData<Data, QueryKey>(queryKey, data);
}
