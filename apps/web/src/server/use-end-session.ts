import { useMantineColorScheme } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation } from "@tanstack/react-query";
import { describeFailure } from "./failure.ts";
import { trpc } from "./trpc.ts";

/**
 * Ends the session. The response makes the browser clear its storage. The appearance is a setting of
 * the browser, not of the user, so it is stored again.
 */
export function useEndSession(onEnded: () => void | Promise<void>): () => void {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const signOut = useMutation(
    trpc.session.signOut.mutationOptions({
      onSuccess: () => {
        setColorScheme(colorScheme);
        return onEnded();
      },
      onError: (error) =>
        notifications.show({ title: "You are still signed in", message: describeFailure(error).message }),
    }),
  );
  return () => signOut.mutate();
}
