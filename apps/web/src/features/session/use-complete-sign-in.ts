import { useRouter } from "@tanstack/react-router";
import { clearUserQueries, queryClient } from "../../server/query-client.ts";
import { type Session, trpc } from "../../server/trpc.ts";

/**
 * Completes a sign-in or sign-up: removes the cached data of the previous user, and then navigates
 * to `next`.
 */
export function useCompleteSignIn(next: string | undefined): (session: Session) => Promise<void> {
  const router = useRouter();
  return async (session) => {
    clearUserQueries();
    queryClient.setQueryData(trpc.session.current.queryKey(), session);
    await router.navigate({ href: next ?? "/", replace: true });
  };
}
