import { useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import { onSessionEnded, queryClient } from "../server/query-client.ts";
import { trpc } from "../server/trpc.ts";
import { goToSignIn } from "./go-to-sign-in.ts";

/**
 * Redirects to the sign-in page when a call is rejected because the session ended, and back after
 * signing in.
 */
export function useSessionEnd(): void {
  const router = useRouter();
  useEffect(
    () =>
      onSessionEnded(() => {
        const current = trpc.session.current.queryKey();
        // Concurrent calls, and calls in flight during a sign-out, are rejected too. Only the first
        // one redirects.
        if (queryClient.getQueryData(current) === null) return;
        void goToSignIn(router, { next: router.state.location.href, ended: "yes" });
      }),
    [router],
  );
}
