import { queryClient } from "../../server/query-client.ts";
import { trpc } from "../../server/trpc.ts";

/** Loads what is shown of keys again, after several of them were changed. */
export async function refreshKeys(): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: trpc.issuedKeys.pathKey() });
  await queryClient.invalidateQueries({ queryKey: trpc.keyspaces.pathKey() });
  await queryClient.invalidateQueries({ queryKey: trpc.consumers.pathKey() });
}
