import { createId, type WorkspaceId } from "@latchkey/db/ids";
import { type PastRow, toHex } from "@latchkey/db/past-rows";
import type { Person } from "./people.ts";
import type { Random } from "./random.ts";

const deliveryCount = 300;

/** Invents two webhooks, of which one was disabled after failures, and the deliveries of the newest events to the other. */
export function createWebhookRows(
  random: Random,
  {
    workspaceId,
    people,
    events,
    sealWebhookSecret,
    now,
  }: {
    workspaceId: WorkspaceId;
    people: readonly Person[];
    events: readonly PastRow<"audit_events">[];
    sealWebhookSecret: (owner: string) => Buffer;
    now: Date;
  },
): readonly [
  ["webhooks", readonly PastRow<"webhooks">[]],
  ["webhook_deliveries", readonly PastRow<"webhook_deliveries">[]],
] {
  const domain = people[0]?.email.split("@")[1];
  const [id, failedId] = [createId("webhook"), createId("webhook")];
  const webhook = {
    workspace_id: workspaceId,
    id,
    url: `https://hooks.${domain}/latchkey`,
    description: "Security events",
    secret: toHex(sealWebhookSecret(id)),
    disabled_at: null,
    disabled_reason: null,
    created_at: people[0]?.joinedAt ?? now,
  } as const;
  const failed = {
    ...webhook,
    id: failedId,
    url: `https://old-hooks.${domain}/latchkey`,
    description: "Former log archive",
    secret: toHex(sealWebhookSecret(failedId)),
    disabled_at: now,
    disabled_reason: "failures",
  } as const;
  const deliveries = events.slice(-deliveryCount).map((event) => {
    const isFailed = random.next() < 0.03;
    const at = event.occurred_at ?? now;
    return {
      workspace_id: workspaceId,
      id: createId("delivery"),
      webhook_id: id,
      event_id: event.id ?? null,
      action: event.action ?? ("webhook.test" as const),
      status: isFailed ? ("failed" as const) : ("succeeded" as const),
      attempt_count: 1,
      attempts: [
        {
          at: at.toISOString(),
          status: isFailed ? 500 : 204,
          error: null,
          durationMs: random.integer(20, 400),
        },
      ],
      created_at: at,
    };
  });
  return [
    ["webhooks", [webhook, failed]],
    ["webhook_deliveries", deliveries],
  ];
}
