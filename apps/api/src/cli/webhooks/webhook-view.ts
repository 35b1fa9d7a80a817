import { encodeId, type WorkspaceId } from "@latchkey/db/ids";
import type { Delivery } from "@latchkey/db/webhook-deliveries";
import type { Webhook } from "@latchkey/db/webhooks";
import type { WebhookWithSecret } from "../../domain/webhook-secrets.ts";
import { presentDelivery, presentWebhook, presentWebhookWithSecret } from "../../presenters/webhook.ts";
import { formatTime } from "../format.ts";
import { type ItemResult, itemOf, type View } from "../result.ts";

/** A webhook in the command's JSON: as in the open API, with the workspace. */
type PresentedWebhook = ReturnType<typeof presentWebhookOf>;

export function presentWebhookOf(workspaceId: WorkspaceId, webhook: Webhook) {
  return { workspaceId: encodeId("workspace", workspaceId), ...presentWebhook(webhook) };
}

export const webhookView: View<PresentedWebhook> = [
  { label: "Workspace ID", text: ({ workspaceId }) => workspaceId, isDetail: true },
  { label: "ID", text: ({ id }) => id },
  {
    label: "Status",
    text: ({ disabledReason }) => (disabledReason ? `disabled (${disabledReason})` : "enabled"),
  },
  { label: "Failing since", text: ({ failingSince }) => (failingSince ? formatTime(failingSince) : "") },
  { label: "URL", text: ({ url }) => url },
  { label: "Events", text: ({ actions }) => actions?.join("\n") ?? "all", isDetail: true },
  { label: "Description", text: ({ description }) => description || "none", isDetail: true },
];

/** A webhook with its secret, which only this result contains. */
export function webhookSecretResult(workspaceId: WorkspaceId, created: WebhookWithSecret): ItemResult {
  const webhook = {
    workspaceId: encodeId("workspace", workspaceId),
    ...presentWebhookWithSecret(created),
  };
  return itemOf(webhook, [...webhookView, { label: "Secret", text: ({ secret }: typeof webhook) => secret }]);
}

/** A delivery in the command's JSON: as in the open API, with the workspace. */
type PresentedDelivery = ReturnType<typeof presentDeliveryOf>;

export function presentDeliveryOf(workspaceId: WorkspaceId, delivery: Delivery) {
  return { workspaceId: encodeId("workspace", workspaceId), ...presentDelivery(delivery) };
}

export const deliveryView: View<PresentedDelivery> = [
  { label: "Workspace ID", text: ({ workspaceId }) => workspaceId, isDetail: true },
  { label: "ID", text: ({ id }) => id },
  { label: "Status", text: ({ status }) => status },
  { label: "Created", text: ({ createdAt }) => formatTime(createdAt) },
  { label: "Attempts", text: ({ attempts }) => String(attempts.length) },
  { label: "Last result", text: ({ attempts }) => describeAttempt(attempts.at(-1)) },
  {
    label: "Next attempt",
    text: ({ nextAttemptAt }) => (nextAttemptAt ? formatTime(nextAttemptAt) : "none"),
  },
  { label: "Event", text: ({ action }) => action },
];

function describeAttempt(attempt: PresentedDelivery["attempts"][number] | undefined): string {
  if (!attempt) return "none";
  return attempt.status === null ? (attempt.error ?? "no response") : String(attempt.status);
}
