import { useDisclosure } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { describeFailure, type Failure } from "../../server/failure.ts";
import { type SessionWorkspace, trpc, type Webhook } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { DangerRow } from "../../ui/danger-row.tsx";
import rowClasses from "../../ui/danger-rows.module.css";
import { DeleteRow } from "../../ui/delete-row.tsx";
import dialogClasses from "../../ui/dialog.module.css";
import { Section } from "../../ui/section.tsx";
import { watchPage } from "../../ui/watch-page.ts";
import { showWebhook } from "./use-webhooks.ts";

interface WebhookDangerSectionProps {
  readonly workspace: SessionWorkspace;
  readonly webhook: Webhook;
}

/** The actions that disable, enable and delete a webhook. */
export function WebhookDangerSection({ workspace, webhook }: WebhookDangerSectionProps): ReactElement {
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const [isDisableOpen, disabling] = useDisclosure(false);
  const [isDeleteOpen, deletion] = useDisclosure(false);
  const { id, isDisabled, version } = webhook;
  const path = { workspaceId: workspace.id, id };
  const host = new URL(webhook.url).host;
  const update = useMutation(
    trpc.webhooks.update.mutationOptions({
      onSuccess: async (changed) => {
        await showWebhook(queryClient, workspace.id, changed);
        disabling.close();
        notifications.show({ message: changed.isDisabled ? "Webhook disabled." : "Webhook enabled." });
      },
      onError: async (error, { changes }) => {
        // The dialog shows why the webhook couldn't be disabled.
        if (changes.isDisabled === false)
          notifications.show({ message: describeChangeFailure(error).message });
        // After a conflict, trying again is based on the current version.
        await queryClient.invalidateQueries({ queryKey: trpc.webhooks.get.pathKey() });
      },
    }),
  );
  const setDisabled = (isNowDisabled: boolean) =>
    update.mutate({ ...path, version, changes: { isDisabled: isNowDisabled } });
  const remove = useMutation(
    trpc.webhooks.delete.mutationOptions({
      onMutate: watchPage,
      onSuccess: async (_data, _input, isPageOpen) => {
        if (isPageOpen()) await navigate({ to: "/w/$slug/webhooks", params: { slug: workspace.slug } });
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
            // One button, so that it keeps the focus.
            <BusyButton
              variant="default"
              flex="none"
              loading={update.isPending && !isDisableOpen}
              onClick={() => {
                if (isDisabled) return setDisabled(false);
                update.reset();
                disabling.open();
              }}
            >
              {isDisabled ? "Enable webhook" : "Disable webhook"}
            </BusyButton>
          }
        >
          {isDisabled
            ? "Messages about new events are sent. Events that occurred while it was disabled are never sent. To send messages that failed, use Redeliver in the log."
            : "Until you enable it again, no messages are sent, and a pending message fails when its next attempt is due."}
        </DangerRow>
        <DeleteRow noun="webhook" onDelete={deletion.open}>
          The log of its deliveries is deleted too. This can’t be undone.
        </DeleteRow>
      </div>
      <ConfirmDialog
        isOpen={isDisableOpen}
        title="Disable this webhook?"
        action="Disable webhook"
        failure={update.error ? describeChangeFailure(update.error) : undefined}
        isBusy={update.isPending}
        onCancel={disabling.close}
        onClosed={update.reset}
        onConfirm={() => setDisabled(true)}
      >
        <p className={dialogClasses.words}>
          No more messages are sent to <strong>{host}</strong>. A pending message fails when its next attempt
          is due. Events that occur while the webhook is disabled are never sent, even after you enable it
          again.
        </p>
      </ConfirmDialog>
      <ConfirmDialog
        isOpen={isDeleteOpen}
        title="Delete this webhook?"
        action="Delete webhook"
        failure={remove.error ? describeFailure(remove.error) : undefined}
        isBusy={remove.isPending}
        onCancel={deletion.close}
        onClosed={remove.reset}
        onConfirm={() => remove.mutate(path)}
      >
        <p className={dialogClasses.words}>
          No more messages are sent to <strong>{host}</strong>. This can’t be undone.
        </p>
      </ConfirmDialog>
    </Section>
  );
}

function describeChangeFailure(error: unknown): Failure {
  const failure = describeFailure(error);
  return failure.code === "PRECONDITION_FAILED"
    ? { ...failure, message: "Someone changed the webhook at the same time. Try again." }
    : failure;
}
