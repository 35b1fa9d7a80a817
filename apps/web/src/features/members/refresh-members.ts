import type { QueryClient } from "@tanstack/react-query";
import { trpc } from "../../server/trpc.ts";

/** Loads what is shown of members again after some were removed: the list, and the offer of ownership, which a removal can end. */
export async function refreshMembers(queryClient: QueryClient): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: trpc.members.list.pathKey() }),
    queryClient.invalidateQueries({ queryKey: trpc.ownership.get.pathKey() }),
  ]);
}
