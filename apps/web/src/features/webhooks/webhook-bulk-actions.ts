import { describeUnlessDeleted } from "../../server/describe-unless-deleted.ts";
import { queryClient } from "../../server/query-client.ts";
import { trpc, trpcClient, type Webhook } from "../../server/trpc.ts";
import type { BulkAction, BulkItems } from "../../ui/bulk-change.ts";

/** What can be done with several webhooks. */
export function webhookActions(workspaceId: string): readonly BulkAction<Webhook>[] {
  const setDisabled = ({ id, version }: Webhook, isDisabled: boolean) =>
    trpcClient.webhooks.update.mutate({ workspaceId, id, version, changes: { isDisabled } });
  return [
    {
      verb: "Disable",
      done: "disabled",
      consequence:
        "No more messages are sent. A pending message fails when its next attempt is due, unless you enable the webhook before that. Events that occur while a webhook is disabled are never sent, even after you enable it again.",
      isDangerous: true,
      appliesTo: ({ isDisabled }) => !isDisabled,
      run: (webhook) => setDisabled(webhook, true),
    },
    {
      verb: "Enable",
      done: "enabled",
      consequence:
        "Messages about new events are sent. Events that occurred while a webhook was disabled are never sent. To send messages that failed, use Redeliver in the log of each webhook.",
      isDangerous: false,
      appliesTo: ({ isDisabled }) => isDisabled,
      run: (webhook) => setDisabled(webhook, false),
    },
    {
      verb: "Delete",
      done: "deleted",
      consequence:
        "No more messages are sent, and the logs of their deliveries are deleted too. This can’t be undone.",
      isDangerous: true,
      run: ({ id }) => trpcClient.webhooks.delete.mutate({ workspaceId, id }),
    },
  ];
}

export const bulkWebhooks: Omit<BulkItems<Webhook>, "items"> = {
  nameOf: ({ url }) => url,
  nouns: ["webhook", "webhooks"],
  describeError: describeUnlessDeleted,
  refresh: () => queryClient.invalidateQueries({ queryKey: trpc.webhooks.pathKey() }),
};
