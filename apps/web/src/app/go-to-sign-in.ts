import { notifications } from "@mantine/notifications";
import type { RegisteredRouter } from "@tanstack/react-router";
import { clearUserQueries, queryClient } from "../server/query-client.ts";
import { trpc } from "../server/trpc.ts";

interface Destination {
  readonly next?: string;
  readonly ended?: "yes";
}

/**
 * Opens the sign-in page after a session ended, and discards the user's cached queries and
 * notifications.
 */
export async function goToSignIn(
  router: Pick<RegisteredRouter, "navigate">,
  destination: Destination = {},
): Promise<void> {
  const current = trpc.session.current.queryKey();
  // The sign-in route redirects back to the app unless the session is null.
  queryClient.setQueryData(current, null);
  notifications.clean();
  await router.navigate({ to: "/sign-in", search: destination, ignoreBlocker: true });
  clearUserQueries();
  queryClient.setQueryData(current, null);
}
