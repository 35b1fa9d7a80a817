import { useRouter } from "@tanstack/react-router";
import { useContext, useEffect } from "react";
import { CurrentSecretScope } from "../ui/uncopied-secrets.ts";

/**
 * Loads the session again when the window gets the focus. In another window, the user may have signed out, or someone else
 * may have signed in. The calls of this window would then send the cookie of that user.
 */
export function useSessionRefresh(): void {
  const router = useRouter();
  const secrets = useContext(CurrentSecretScope);
  useEffect(() => {
    const onFocus = () =>
      // Not part of the first load. If it can't be loaded, the next call of the page reports that nobody is signed in.
      void import("./refresh-session.ts").then(
        ({ refreshSession }) => refreshSession(router, secrets),
        () => undefined,
      );
    window.addEventListener("focus", onFocus);
    return () => window.removeEventListener("focus", onFocus);
  }, [router, secrets]);
}
