import type { Outcome } from "@latchkey/auth/outcome";
import { encodeId } from "@latchkey/db/ids";
import type { UsageBucket } from "@latchkey/db/key-history";
import { z } from "zod";
import { shownId, shownIdentifier, timestamp } from "../schemas.ts";

/** What each outcome means. */
export const outcomes: Readonly<Record<Outcome, string>> = {
  admitted: "The requests were admitted.",
  limited: "The key had exceeded its rate limit.",
  disabled: "The key was disabled.",
  expired: "The key had expired.",
  deleted: "The key had been deleted.",
  "rotated-out": "The request used an old secret that was no longer valid.",
  "user-disabled": "The owner of the key was disabled.",
  address: "The IP address wasn't in the IP ranges of the key.",
  "no-member": "The owner wasn't a member of the workspace.",
  blocked: "An admin had blocked the key from the workspace.",
  policy: "The workspace's API key policy didn't allow the key.",
  "no-permission": "The owner's role didn't have the permission.",
  "workspace-not-in-key": "The key was restricted to other workspaces.",
  "permission-not-in-key": "The key was restricted to other permissions, or read only.",
  "workspace-disabled": "An operator had disabled the workspace.",
  narrowed: "The operation needs a key that isn't restricted to workspaces, permissions or read-only access.",
};

function list(meanings: Readonly<Record<string, string>>): string {
  return Object.entries(meanings)
    .map(([value, meaning]) => `- \`${value}\`: ${meaning}`)
    .join("\n");
}

/** The number of requests with one key that had one outcome in one workspace and one hour or day in UTC. */
export const usageBucket = z
  .object({
    startsAt: timestamp,
    workspaceId: shownId("workspace")
      .nullable()
      .meta({ description: "Null for requests without a workspace." }),
    outcome: shownIdentifier.meta({
      description: `The outcome of the requests: admitted, rate limited, or the reason for the rejection. More values may be added.\n\n${list(outcomes)}`,
      example: "admitted",
    }),
    count: z.int().min(1).meta({ example: 42 }),
  })
  .meta({ id: "UsageBucket" });

/** The requests with one outcome in one bucket of a chart, for the web app. */
export function presentUsage({ startsAt, outcome, count }: Omit<UsageBucket, "workspaceId">) {
  return { startsAt: startsAt.toISOString(), outcome, count };
}

export function presentUsageBucket(shown: UsageBucket): z.input<typeof usageBucket> {
  return {
    startsAt: shown.startsAt.toISOString(),
    workspaceId: shown.workspaceId && encodeId("workspace", shown.workspaceId),
    outcome: shown.outcome,
    count: shown.count,
  };
}
