import { useRouter } from "@tanstack/react-router";
import { useContext } from "react";
import { useEndSession } from "../server/use-end-session.ts";
import { CurrentSecretScope } from "../ui/uncopied-secrets.ts";
import { CurrentDiscardConfirmation, CurrentInputScope } from "../ui/unsaved-input.ts";
import { goToSignIn } from "./go-to-sign-in.ts";

/**
 * Ends the session, discards its cached data, and opens the sign-in page. Asks for confirmation first if there is unsaved
 * input or an uncopied secret.
 */
export function useSignOut(): () => void {
  const router = useRouter();
  const scope = useContext(CurrentInputScope);
  const secrets = useContext(CurrentSecretScope);
  const { ask } = useContext(CurrentDiscardConfirmation);
  const endSession = useEndSession(() => goToSignIn(router));
  return () => {
    if (scope.hasInput() || secrets.hasInput()) ask(endSession, { leavesPage: true });
    else endSession();
  };
}
