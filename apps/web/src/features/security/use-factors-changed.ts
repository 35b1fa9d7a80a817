import { useQueryClient } from "@tanstack/react-query";
import { trpc } from "../../server/trpc.ts";

/** Updates the page after a change to the second factors, which ends sessions and is logged. */
export function useFactorsChanged(): () => Promise<void> {
  const queryClient = useQueryClient();
  return async () => {
    await Promise.all([
      queryClient.invalidateQueries({ queryKey: trpc.factors.get.queryKey() }),
      queryClient.invalidateQueries({ queryKey: trpc.account.sessions.queryKey() }),
      queryClient.invalidateQueries({ queryKey: trpc.securityLog.list.pathKey() }),
    ]);
  };
}
