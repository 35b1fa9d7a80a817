import { describeFailure } from "../../server/failure.ts";
import { type IssuedKey, trpcClient } from "../../server/trpc.ts";
import type { BulkAction, BulkItems } from "../../ui/bulk-change.ts";
import { describeUses } from "../../ui/describe-uses.ts";
import { titleOfKey } from "../../ui/issued-key-title.ts";
import { refreshKeys } from "./refresh-keys.ts";
import type { KeyspacePath } from "./use-keyspaces.ts";

/** What can be done with several keys of a keyspace. Each action is one call, so that all keys are changed or none. */
export function issuedKeyActions({
  workspaceId,
  keyspaceId,
}: KeyspacePath): readonly BulkAction<IssuedKey>[] {
  const change = async (keys: readonly IssuedKey[], action: "enable" | "disable" | "delete") => {
    const { changed } = await trpcClient.issuedKeyBulk.change.mutate({
      workspaceId,
      keyspaceId,
      change: { action, keyIds: keys.map(({ id }) => id) },
    });
    return keys.filter(({ id }) => changed.includes(id));
  };
  return [
    {
      verb: "Disable",
      done: "disabled",
      consequence: "Verifications fail with DISABLED from the next request. You can enable keys again.",
      isDangerous: true,
      appliesTo: ({ isDisabled }) => !isDisabled,
      skipped: "already disabled",
      runAll: (keys) => change(keys, "disable"),
    },
    {
      verb: "Enable",
      done: "enabled",
      consequence:
        "Verifications succeed again from the next request, unless a key has expired or has no credits.",
      isDangerous: false,
      appliesTo: ({ isDisabled }) => isDisabled,
      skipped: "already enabled",
      runAll: (keys) => change(keys, "enable"),
    },
    {
      verb: "Delete",
      done: "deleted",
      consequence: "Verifications fail with NOT_FOUND from the next request. This can’t be undone.",
      isDangerous: true,
      runAll: (keys) => change(keys, "delete"),
    },
  ];
}

export const bulkKeys: Omit<BulkItems<IssuedKey>, "items"> = {
  nameOf: titleOfKey,
  nouns: ["key", "keys"],
  describe: describeUses,
  describeError: describeFailure,
  refresh: refreshKeys,
};
