import { useDisclosure } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type SessionWorkspace, trpc, type Webhook } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { DangerRow } from "../../ui/danger-row.tsx";
import rowClasses from "../../ui/danger-rows.module.css";
import { DeleteRow } from "../../ui/delete-row.tsx";
import dialogClasses from "../../ui/dialog.module.css";
import { Section } from "../../ui/section.tsx";

interface WebhookDangerSectionProps {
  readonly workspace: SessionWorkspace;
  readonly webhook: Webhook;
}

/** The actions that disable, enable and delete a webhook. */
export function WebhookDangerSection({ workspace, webhook }: WebhookDangerSectionProps): ReactElement {
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const [isDeleteOpen, deletion] = useDisclosure(false);
  const { id, isDisabled, version } = webhook;
  const invalidate = () => queryClient.invalidateQueries({ queryKey: trpc.webhooks.pathKey() });
  const update = useMutation(
    trpc.webhooks.update.mutationOptions({
      onSuccess: async ({ isDisabled: isNowDisabled }) => {
        await invalidate();
        notifications.show({ message: isNowDisabled ? "Webhook disabled." : "Webhook enabled." });
      },
      onError: async (error) => {
        notifications.show({ message: describeFailure(error).message });
        await invalidate();
      },
    }),
  );
  const remove = useMutation(
    trpc.webhooks.delete.mutationOptions({
      onSuccess: async () => {
        await navigate({ to: "/w/$slug/webhooks", params: { slug: workspace.slug } });
        await queryClient.invalidateQueries({ queryKey: trpc.webhooks.list.pathKey() });
        notifications.show({ message: "Webhook deleted." });
      },
    }),
  );
  return (
    <Section title="Danger zone">
      <div className={rowClasses.list}>
        <DangerRow
          title={isDisabled ? "Enable this webhook" : "Disable this webhook"}
          action={
            <BusyButton
              variant="default"
              flex="none"
              loading={update.isPending}
              onClick={() =>
                update.mutate({
                  workspaceId: workspace.id,
                  id,
                  version,
                  changes: { isDisabled: !isDisabled },
                })
              }
            >
              {isDisabled ? "Enable webhook" : "Disable webhook"}
            </BusyButton>
          }
        >
          {isDisabled
            ? "Messages about new events are sent. To send earlier ones, use Redeliver in the log."
            : "No more messages are sent, and pending ones fail, until you enable it again."}
        </DangerRow>
        <DeleteRow noun="webhook" onDelete={deletion.open}>
          The log of its deliveries is deleted too. This can’t be undone.
        </DeleteRow>
      </div>
      <ConfirmDialog
        isOpen={isDeleteOpen}
        title="Delete this webhook?"
        action="Delete webhook"
        failure={remove.error ? describeFailure(remove.error) : undefined}
        isBusy={remove.isPending}
        onCancel={deletion.close}
        onClosed={remove.reset}
        onConfirm={() => remove.mutate({ workspaceId: workspace.id, id })}
      >
        <p className={dialogClasses.words}>
          No more messages are sent to <strong>{new URL(webhook.url).host}</strong>. This can’t be undone.
        </p>
      </ConfirmDialog>
    </Section>
  );
}
