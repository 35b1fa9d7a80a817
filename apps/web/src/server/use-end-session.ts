import { notifications } from "@mantine/notifications";
import { useMutation } from "@tanstack/react-query";
import { keepBrowserSettings } from "./browser-storage.ts";
import { describeFailure } from "./failure.ts";
import { trpc } from "./trpc.ts";

/** Ends the session, and keeps the settings of the browser. */
export function useEndSession(onEnded: () => void | Promise<void>): () => void {
  const signOut = useMutation(
    trpc.session.signOut.mutationOptions({
      onMutate: keepBrowserSettings,
      onSuccess: (_data, _input, restoreSettings) => {
        restoreSettings();
        return onEnded();
      },
      onError: (error) =>
        notifications.show({ title: "You are still signed in", message: describeFailure(error).message }),
    }),
  );
  return () => signOut.mutate();
}
