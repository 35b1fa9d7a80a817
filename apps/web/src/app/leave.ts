import { notifications } from "@mantine/notifications";
import type { RegisteredRouter } from "@tanstack/react-router";
import { forgetVisitor, queryClient } from "../server/query-client.ts";
import { trpc } from "../server/trpc.ts";

interface Destination {
  readonly next?: string;
  readonly ended?: "yes";
}

/** Leads to the sign-in page once a session is over, and forgets what was loaded for its owner and told them. */
export async function leave(
  router: Pick<RegisteredRouter, "navigate">,
  destination: Destination = {},
): Promise<void> {
  const current = trpc.session.current.queryKey();
  // By this the routes know that nobody is signed in.
  queryClient.setQueryData(current, null);
  notifications.clean();
  await router.navigate({ to: "/sign-in", search: destination });
  forgetVisitor();
  queryClient.setQueryData(current, null);
}
