import { describeUnlessDeleted } from "../../../server/describe-unless-deleted.ts";
import { queryClient } from "../../../server/query-client.ts";
import { type Member, trpc, trpcClient } from "../../../server/trpc.ts";
import type { BulkAction, BulkItems } from "../../../ui/bulk-change.ts";

/** What can be done with several service accounts. */
export function serviceAccountActions(workspaceId: string): readonly BulkAction<Member>[] {
  return [
    {
      verb: "Disable",
      done: "disabled",
      consequence:
        "Requests with their API keys are rejected immediately, until you enable the accounts again.",
      isDangerous: true,
      appliesTo: ({ isDisabled }) => !isDisabled,
      run: ({ userId }) =>
        trpcClient.serviceAccounts.change.mutate({ workspaceId, userId, isDisabled: true }),
    },
    {
      verb: "Enable",
      done: "enabled",
      consequence: "Requests with their API keys are allowed again immediately.",
      isDangerous: false,
      appliesTo: ({ isDisabled }) => isDisabled,
      run: ({ userId }) =>
        trpcClient.serviceAccounts.change.mutate({ workspaceId, userId, isDisabled: false }),
    },
    {
      verb: "Delete",
      done: "deleted",
      consequence:
        "All of their API keys are deleted, and requests with these keys are rejected immediately. Their events in the audit log stay. This can’t be undone.",
      isDangerous: true,
      run: ({ userId }) => trpcClient.serviceAccounts.delete.mutate({ workspaceId, userId }),
    },
  ];
}

export const bulkServiceAccounts: Omit<BulkItems<Member>, "items"> = {
  nameOf: ({ name }) => name,
  nouns: ["service account", "service accounts"],
  describeError: describeUnlessDeleted,
  refresh: () => queryClient.invalidateQueries({ queryKey: trpc.members.list.pathKey() }),
};
