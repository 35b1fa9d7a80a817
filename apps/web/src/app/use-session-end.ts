import { useRouter } from "@tanstack/react-router";
import { useContext, useEffect } from "react";
import { onSessionEnded, queryClient } from "../server/query-client.ts";
import { trpc } from "../server/trpc.ts";
import { CurrentPendingScope, CurrentSecretScope } from "../ui/uncopied-secrets.ts";
import { goToSignIn } from "./go-to-sign-in.ts";

/**
 * Redirects to the sign-in page when a call is rejected because the session ended, and back after
 * signing in. While a secret is shown that the user hasn't copied, the page stays: a later call redirects.
 */
export function useSessionEnd(): void {
  const router = useRouter();
  const secrets = useContext(CurrentSecretScope);
  const pending = useContext(CurrentPendingScope);
  useEffect(
    () =>
      onSessionEnded(() => {
        const current = trpc.session.current.queryKey();
        // Concurrent calls, and calls in flight during a sign-out, are rejected too. Only the first
        // one redirects.
        if (queryClient.getQueryData(current) === null) return;
        // A call that is pending creates a secret. It is rejected too, and no later call may redirect.
        if (secrets.hasInput() && !pending.hasInput()) return;
        void goToSignIn(router, { next: router.state.location.href, ended: "yes" });
      }),
    [router, secrets, pending],
  );
}
