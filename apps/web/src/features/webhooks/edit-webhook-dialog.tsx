import { notifications } from "@mantine/notifications";
import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { trpc, type Webhook } from "../../server/trpc.ts";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { WebhookForm } from "./webhook-form.tsx";
import { valuesOf } from "./webhook-values.ts";

interface EditWebhookDialogProps {
  readonly workspaceId: string;
  readonly webhook: Webhook;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Edits a webhook. Saves only if it still has the version that the user saw. */
export function EditWebhookDialog(props: EditWebhookDialogProps): ReactElement {
  const { isOpen, onClose } = props;
  const isSaving = useIsMutating({ mutationKey: trpc.webhooks.update.mutationKey() }) > 0;
  return (
    <FormDialog isOpen={isOpen} isBusy={isSaving} title="Edit webhook" size={560} onClose={onClose}>
      <Form {...props} />
    </FormDialog>
  );
}

function Form({ workspaceId, webhook, onClose }: EditWebhookDialogProps): ReactElement {
  const queryClient = useQueryClient();
  const update = useMutation(
    trpc.webhooks.update.mutationOptions({
      onSuccess: async () => {
        await queryClient.invalidateQueries({ queryKey: trpc.webhooks.pathKey() });
        onClose();
        notifications.show({ message: "Webhook saved." });
      },
      // After a conflict, saving again is based on the current version.
      onError: () => queryClient.invalidateQueries({ queryKey: trpc.webhooks.get.pathKey() }),
    }),
  );
  const { id, version } = webhook;
  return (
    <WebhookForm
      initialValues={valuesOf(webhook)}
      action="Save"
      error={update.error}
      isBusy={update.isPending}
      onSubmit={(changes) => update.mutate({ workspaceId, id, version, changes })}
      onCancel={onClose}
    />
  );
}
