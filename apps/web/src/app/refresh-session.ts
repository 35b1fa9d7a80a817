import type { useRouter } from "@tanstack/react-router";
import { queryClient } from "../server/query-client.ts";
import { trpc, trpcClient } from "../server/trpc.ts";
import { goToSignIn } from "./go-to-sign-in.ts";

/** How soon the page is reloaded again, in milliseconds, if the user has refused because input or secrets would be lost. */
const reloadPauseMs = 60_000;
let reloadedAt = Number.NEGATIVE_INFINITY;

/**
 * Loads the session again. If another user has signed in since, the page is reloaded; if nobody is signed in any more, it
 * leads to the sign-in page.
 */
export async function refreshSession(router: ReturnType<typeof useRouter>): Promise<void> {
  const key = trpc.session.current.queryKey();
  const former = queryClient.getQueryData(key);
  // If the call fails, the next one of the page reports it.
  const session = await trpcClient.session.current.query().catch(() => undefined);
  // A rejected call has already led to the sign-in page. If this window has changed the session since the call, the
  // response is older.
  if (session === undefined || !former || queryClient.getQueryData(key) !== former) return;
  if (session === null) await goToSignIn(router, { next: router.state.location.href, ended: "yes" });
  else if (session.user.id !== former.user.id) {
    // The end of the browser's question gives the window the focus again.
    if (performance.now() - reloadedAt < reloadPauseMs) return;
    reloadedAt = performance.now();
    window.location.reload();
  } else if (queryClient.setQueryData(key, session) !== former) await router.invalidate();
}
