import { describeUnlessDeleted } from "../../server/describe-unless-deleted.ts";
import { queryClient } from "../../server/query-client.ts";
import { type ListedSession, trpc, trpcClient } from "../../server/trpc.ts";
import type { BulkAction, BulkItems } from "../../ui/bulk-change.ts";
import { describeDevice } from "./describe-device.ts";

/** What can be done with several sessions. */
export const sessionActions: readonly BulkAction<ListedSession>[] = [
  {
    verb: "End",
    done: "ended",
    consequence:
      "These devices are signed out immediately. If you don’t recognize one, also change your password.",
    isDangerous: true,
    run: ({ id }) => trpcClient.account.endSession.mutate({ id }),
  },
];

export const bulkSessions: Omit<BulkItems<ListedSession>, "items"> = {
  nameOf: ({ device }) => describeDevice(device),
  nouns: ["session", "sessions"],
  describeError: describeUnlessDeleted,
  refresh: () =>
    Promise.all([
      queryClient.invalidateQueries({ queryKey: trpc.account.sessions.queryKey() }),
      queryClient.invalidateQueries({ queryKey: trpc.securityLog.list.pathKey() }),
    ]),
};
