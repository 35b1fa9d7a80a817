import { encodeId } from "@latchkey/db/ids";
import type { UsageBucket } from "@latchkey/db/key-history";
import { z } from "zod";
import { shownId, timestamp } from "../schemas.ts";

/** The number of requests with one key that had one outcome in one workspace and one hour or day in UTC. */
export const usageBucket = z
  .object({
    startsAt: timestamp,
    workspaceId: shownId("workspace")
      .nullable()
      .meta({ description: "Null for requests without a workspace." }),
    outcome: z.string().meta({
      description: "`admitted`, `limited`, or the reason for the rejection. More values may be added.",
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
