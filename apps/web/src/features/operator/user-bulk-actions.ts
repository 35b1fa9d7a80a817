import { describeFailure, type Failure } from "../../server/failure.ts";
import { queryClient } from "../../server/query-client.ts";
import { trpc, trpcClient, type UserOverview } from "../../server/trpc.ts";
import type { BulkAction, BulkItems } from "../../ui/bulk-change.ts";
import { countOf } from "../../ui/count.ts";

/** What an operator can do with several users. */
export const userBulkActions: readonly BulkAction<UserOverview>[] = [
  {
    verb: "Disable",
    done: "disabled",
    consequence:
      "They are signed out immediately, and can’t sign in. All of their API keys are rejected from the next request. You can enable them again.",
    isDangerous: true,
    appliesTo: ({ isDisabled }) => !isDisabled,
    run: ({ id }) => trpcClient.operator.disableUser.mutate({ userId: id }),
  },
  {
    verb: "Enable",
    done: "enabled",
    consequence: "They can sign in again, and their API keys are allowed again from the next request.",
    isDangerous: false,
    appliesTo: ({ isDisabled }) => isDisabled,
    run: ({ id }) => trpcClient.operator.enableUser.mutate({ userId: id }),
  },
  {
    verb: "End sessions",
    titleVerb: "End all sessions of",
    done: "signed out of all devices",
    consequence: "They are signed out of all devices immediately. Their API keys keep working.",
    isDangerous: true,
    appliesTo: ({ isDisabled }) => !isDisabled,
    run: ({ id }) => trpcClient.operator.endSessions.mutate({ userId: id }),
  },
];

export const bulkUsers: Omit<BulkItems<UserOverview>, "items"> = {
  nameOf: ({ name }) => name,
  nouns: ["user", "users"],
  describe: describeKeys,
  describeError: describeUserFailure,
  refresh: () => queryClient.invalidateQueries({ queryKey: trpc.operator.pathKey() }),
};

function describeKeys(users: readonly UserOverview[]): string {
  const keyCount = users.reduce((sum, user) => sum + user.keyCount, 0);
  return `${users.length === 1 ? "They have" : "Together, they have"} ${countOf(keyCount, "API key", "API keys")}.`;
}

/** The API also responds to former operators with NOT_FOUND. */
function describeUserFailure(error: unknown): Failure {
  const failure = describeFailure(error);
  return failure.code === "NOT_FOUND"
    ? { ...failure, message: "The user was deleted, or you are no longer an operator." }
    : failure;
}
