import { useRouter } from "@tanstack/react-router";
import { useEndSession } from "../server/use-end-session.ts";
import { goToSignIn } from "./go-to-sign-in.ts";

/** Ends the session, discards its cached data, and opens the sign-in page. */
export function useSignOut(): () => void {
  const router = useRouter();
  return useEndSession(() => goToSignIn(router));
}
