import { encodeId, type WorkspaceId } from "@latchkey/db/ids";
import type { Webhook } from "@latchkey/db/webhooks";
import { presentWebhook } from "../../presenters/webhook.ts";
import { formatTime } from "../format.ts";
import type { View } from "../result.ts";

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
];
