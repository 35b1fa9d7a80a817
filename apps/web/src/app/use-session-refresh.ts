import { useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import { queryClient } from "../server/query-client.ts";
import { trpc, trpcClient } from "../server/trpc.ts";
import { goToSignIn } from "./go-to-sign-in.ts";

/**
 * Loads the session again when the window gets the focus, because the user may have signed out in another window, or in as
 * another user, whose cookie the calls of this window would then send.
 */
export function useSessionRefresh(): void {
  const router = useRouter();
  useEffect(() => {
    const key = trpc.session.current.queryKey();
    const refresh = async () => {
      // If the call fails, the next one of the page reports it.
      const session = await trpcClient.session.current.query().catch(() => undefined);
      const former = queryClient.getQueryData(key);
      // A rejected call has already led to the sign-in page.
      if (session === undefined || !former) return;
      if (session === null) await goToSignIn(router, { next: router.state.location.href, ended: "yes" });
      else if (session.user.id !== former.user.id) window.location.reload();
      else if (queryClient.setQueryData(key, session) !== former) await router.invalidate();
    };
    const onFocus = () => void refresh();
    window.addEventListener("focus", onFocus);
    return () => window.removeEventListener("focus", onFocus);
  }, [router]);
}
