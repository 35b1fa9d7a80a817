import { queryClient } from "../../server/query-client.ts";
import { trpc } from "../../server/trpc.ts";

/** Loads the list of members again, and the offer of ownership, which ends if its member is removed or becomes an owner. */
export async function refreshMembers(): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: trpc.members.list.pathKey() }),
    queryClient.invalidateQueries({ queryKey: trpc.ownership.get.pathKey() }),
  ]);
}
