import { useIsMutating } from "@tanstack/react-query";
import { trpc } from "../../server/trpc.ts";

/** Whether the keys of a member are being replaced. A dialog that closed before the response would lose the new secrets. */
export function useIsReplacingKeys(): boolean {
  return useIsMutating({ mutationKey: trpc.offboarding.replaceKeys.mutationKey() }) > 0;
}
