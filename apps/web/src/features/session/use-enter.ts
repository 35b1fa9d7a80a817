import { useRouter } from "@tanstack/react-router";
import { forgetVisitor, queryClient } from "../../server/query-client.ts";
import { type Session, trpc } from "../../server/trpc.ts";

/** What follows a successful sign-in or sign-up: forget whoever was here before, then go where they wanted. */
export function useEnter(next: string | undefined): (session: Session) => Promise<void> {
  const router = useRouter();
  return async (session) => {
    forgetVisitor();
    queryClient.setQueryData(trpc.session.current.queryKey(), session);
    await router.navigate({ href: next ?? "/", replace: true });
  };
}
