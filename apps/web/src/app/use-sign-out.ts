import { notifications } from "@mantine/notifications";
import { useMutation } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { describeFailure } from "../server/failure.ts";
import { trpc } from "../server/trpc.ts";
import { goToSignIn } from "./go-to-sign-in.ts";
import { useAppearance } from "./shell/appearance.ts";

/**
 * Ends the session, discards its cached data, and opens the sign-in page. The response makes the
 * browser clear its storage. The appearance is a setting of the browser, not of the user, so it is
 * stored again.
 */
export function useSignOut(): () => void {
  const router = useRouter();
  const [appearance, setAppearance] = useAppearance();
  const signOut = useMutation(
    trpc.session.signOut.mutationOptions({
      onSuccess: () => {
        setAppearance(appearance);
        return goToSignIn(router);
      },
      onError: (error) =>
        notifications.show({ title: "You are still signed in", message: describeFailure(error).message }),
    }),
  );
  return () => signOut.mutate();
}
