import { useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import { onSessionEnded, queryClient } from "../server/query-client.ts";
import { trpc } from "../server/trpc.ts";
import { leave } from "./leave.ts";

/** Redirects to the sign-in page, and back after signing in, when a call is rejected because the session has ended. */
export function useSessionEnd(): void {
  const router = useRouter();
  useEffect(
    () =>
      onSessionEnded(() => {
        const current = trpc.session.current.queryKey();
        // Several calls may be refused at once, and those under way at a sign-out are refused too.
        if (queryClient.getQueryData(current) === null) return;
        void leave(router, { next: router.state.location.href, ended: "yes" });
      }),
    [router],
  );
}
