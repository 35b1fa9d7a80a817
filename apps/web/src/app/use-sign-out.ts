import { notifications } from "@mantine/notifications";
import { useMutation } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { describeFailure } from "../server/failure.ts";
import { trpc } from "../server/trpc.ts";
import { leave } from "./leave.ts";
import { useAppearance } from "./shell/appearance.ts";

/**
 * Ends the session, forgets what it had loaded, and leads to the sign-in page. The response makes the browser clear its
 * storage; the appearance is the browser's rather than the person's and is stored again.
 */
export function useSignOut(): () => void {
  const router = useRouter();
  const [appearance, setAppearance] = useAppearance();
  const signOut = useMutation(
    trpc.session.signOut.mutationOptions({
      onSuccess: () => {
        setAppearance(appearance);
        return leave(router);
      },
      onError: (error) =>
        notifications.show({ title: "You are still signed in", message: describeFailure(error).message }),
    }),
  );
  return () => signOut.mutate();
}
