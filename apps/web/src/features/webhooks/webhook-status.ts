import type { Webhook } from "../../server/trpc.ts";
import type { StatusBadgeProps } from "../../ui/status-badge.tsx";

/** The status of a webhook. */
export function describeWebhookStatus({
  isDisabled,
  failingSince,
}: Pick<Webhook, "isDisabled" | "failingSince">): StatusBadgeProps {
  if (isDisabled) return { label: "Disabled", tone: "inactive" };
  return failingSince ? { label: "Failing", tone: "attention" } : { label: "Enabled", tone: "neutral" };
}
