import { describeUnlessDeleted } from "../../server/describe-unless-deleted.ts";
import { queryClient } from "../../server/query-client.ts";
import { type ListedApiKey, trpc, trpcClient } from "../../server/trpc.ts";
import type { BulkAction, BulkItems } from "../../ui/bulk-change.ts";
import { describeUses } from "../../ui/describe-uses.ts";

/** What can be done with several keys. */
export const bulkActions: readonly BulkAction<ListedApiKey>[] = [
  {
    verb: "Disable",
    done: "disabled",
    consequence: "Requests with the selected keys are rejected immediately, until you enable the keys again.",
    isDangerous: true,
    appliesTo: ({ isDisabled }) => !isDisabled,
    skipped: "already disabled",
    run: ({ id }) => trpcClient.apiKeys.update.mutate({ id, settings: { isDisabled: true } }),
  },
  {
    verb: "Enable",
    done: "enabled",
    consequence: "Requests with the selected keys are allowed again immediately, with the same restrictions.",
    isDangerous: false,
    appliesTo: ({ isDisabled }) => isDisabled,
    skipped: "not disabled",
    // The dialog has asked for confirmation. Without `mayWiden`, the API rejects a change that expands access.
    run: ({ id }) =>
      trpcClient.apiKeys.update.mutate({ id, settings: { isDisabled: false }, mayWiden: true }),
  },
  {
    verb: "Delete",
    done: "deleted",
    consequence: "Requests with the selected keys are rejected immediately. This can’t be undone.",
    isDangerous: true,
    run: ({ id }) => trpcClient.apiKeys.delete.mutate({ id }),
  },
];

export const bulkKeys: Omit<BulkItems<ListedApiKey>, "items"> = {
  nameOf: ({ name }) => name,
  nouns: ["key", "keys"],
  describe: describeUses,
  describeError: describeUnlessDeleted,
  refresh: () => queryClient.invalidateQueries({ queryKey: trpc.apiKeys.pathKey() }),
};
