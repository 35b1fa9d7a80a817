import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useEffectEvent } from "react";
import { clearUserQueries, onSessionEnded } from "../../server/query-client.ts";
import { trpc } from "../../server/trpc.ts";

/** Discards the session and the user's cached queries. */
export function useDiscardSession(): () => void {
  const queryClient = useQueryClient();
  return () => {
    clearUserQueries();
    queryClient.setQueryData(trpc.session.current.queryKey(), null);
  };
}

/**
 * Discards the session when a call is rejected because the session ended. For pages that open with and without a
 * session, and show how to sign in if there is none.
 * @param onDiscarded called after the session was discarded.
 */
export function useEndedSession(onDiscarded?: () => void): void {
  const discard = useDiscardSession();
  const onEnded = useEffectEvent(() => {
    discard();
    onDiscarded?.();
  });
  useEffect(() => onSessionEnded(() => onEnded()), []);
}
