import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { trpc, type Webhook } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";

interface TestMessageButtonProps {
  readonly workspaceId: string;
  readonly webhook: Webhook;
  readonly label: string;
  readonly onSent?: () => void;
}

/** Sends a test message to a webhook, which must be enabled. */
export function TestMessageButton({
  workspaceId,
  webhook,
  label,
  onSent,
}: TestMessageButtonProps): ReactElement {
  const queryClient = useQueryClient();
  const test = useMutation(
    trpc.webhooks.test.mutationOptions({
      onSuccess: () => {
        onSent?.();
        notifications.show({ message: "A test message is on its way." });
        return queryClient.invalidateQueries({ queryKey: trpc.webhooks.deliveries.pathKey() });
      },
      onError: (error) => notifications.show({ message: describeFailure(error).message }),
    }),
  );
  return (
    <BusyButton
      variant="default"
      loading={test.isPending}
      disabled={webhook.isDisabled}
      onClick={() => test.mutate({ workspaceId, id: webhook.id })}
    >
      {label}
    </BusyButton>
  );
}
