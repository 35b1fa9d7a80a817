import { queryClient } from "../../server/query-client.ts";
import { trpc } from "../../server/trpc.ts";

/** Loads what is shown of keys again, after keys were added, changed or deleted: keys, and the numbers of keyspaces and consumers. */
export async function refreshKeys(): Promise<void> {
  const routers = [trpc.issuedKeys, trpc.keyspaces, trpc.consumers];
  await Promise.all(routers.map((router) => queryClient.invalidateQueries({ queryKey: router.pathKey() })));
}
