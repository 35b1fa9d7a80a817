import type { useRouter } from "@tanstack/react-router";
import { queryClient } from "../server/query-client.ts";
import { type Session, type SessionWorkspace, trpc, trpcClient } from "../server/trpc.ts";
import type { InputScope } from "../ui/unsaved-input.ts";
import { goToSignIn } from "./go-to-sign-in.ts";

/** How soon the page is reloaded again, in milliseconds, if the user has refused because input or secrets would be lost. */
const reloadPauseMs = 60_000;
let reloadedAt = Number.NEGATIVE_INFINITY;

type Router = ReturnType<typeof useRouter>;

/**
 * Loads the session again. If another user has signed in since, the page is reloaded; if nobody is signed in anymore, it
 * leads to the sign-in page, unless `secrets` would be lost. If the user can no longer access the open workspace, its page says so.
 */
export async function refreshSession(router: Router, secrets: InputScope): Promise<void> {
  const key = trpc.session.current.queryKey();
  const former = queryClient.getQueryData(key);
  // If the call fails, the next one of the page reports it.
  const session = await trpcClient.session.current.query().catch(() => undefined);
  // A rejected call has already led to the sign-in page. If this window has changed the session since the call, the
  // response is older.
  if (session === undefined || !former || queryClient.getQueryData(key) !== former) return;
  if (session === null) {
    if (!secrets.hasInput()) await goToSignIn(router, { next: router.state.location.href, ended: "yes" });
  } else if (session.user.id !== former.user.id) {
    // The end of the browser's question gives the window the focus again.
    if (performance.now() - reloadedAt < reloadPauseMs) return;
    reloadedAt = performance.now();
    window.location.reload();
  } else {
    const lost = findLostWorkspace(router, former, session);
    if (lost) {
      // This call is rejected, which replaces the page. The page itself may have loaded everything before.
      const queryKey = trpc.workspaces.get.queryKey({ workspaceId: lost.id });
      void queryClient.invalidateQueries({ queryKey });
      // Without the workspace, the router would report that the URL of the open page doesn't exist.
      session.workspaces.push(lost);
    }
    if (queryClient.setQueryData(key, session) !== former) await router.invalidate();
  }
}

/** The workspace of the open page, if the user can no longer access it. */
function findLostWorkspace(router: Router, former: Session, session: Session): SessionWorkspace | undefined {
  const params: { readonly slug?: string } = router.state.matches.at(-1)?.params ?? {};
  const open = former.workspaces.find(({ slug }) => slug === params.slug);
  return session.workspaces.some(({ id }) => id === open?.id) ? undefined : open;
}
