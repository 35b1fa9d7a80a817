import { notifications } from "@mantine/notifications";
import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { actionTitles } from "../../server/action-titles.ts";
import { trpc, type Webhook } from "../../server/trpc.ts";
import { useConflict } from "../../server/use-conflict.tsx";
import { changedFields } from "../../ui/changed-fields.ts";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { showWebhook } from "./use-webhooks.ts";
import { WebhookForm } from "./webhook-form.tsx";
import { fieldsOf, valuesOf } from "./webhook-values.ts";

interface EditWebhookDialogProps {
  readonly workspaceId: string;
  readonly webhook: Webhook;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Edits a webhook. */
export function EditWebhookDialog(props: EditWebhookDialogProps): ReactElement {
  const { isOpen, onClose } = props;
  const isSaving = useIsMutating({ mutationKey: trpc.webhooks.update.mutationKey() }) > 0;
  return (
    <FormDialog isOpen={isOpen} isBusy={isSaving} title="Edit webhook" size={560} onClose={onClose}>
      <Form {...props} />
    </FormDialog>
  );
}

/** Saves only if the webhook still has the version that the user saw, and only the fields that the user changed. */
function Form({ workspaceId, webhook, onClose }: EditWebhookDialogProps): ReactElement {
  const queryClient = useQueryClient();
  const path = { workspaceId, id: webhook.id };
  const { base, notice, clear, onError, omitReported } = useConflict({
    noun: "webhook",
    item: webhook,
    load: () => queryClient.fetchQuery(trpc.webhooks.get.queryOptions(path, { staleTime: 0 })),
    describe: ({ url, description, actions }) => ({
      URL: url,
      Description: description,
      Events: actions?.map((action) => actionTitles[action]).join(", ") ?? "All events",
    }),
  });
  const update = useMutation(
    trpc.webhooks.update.mutationOptions({
      onSuccess: async (changed) => {
        await showWebhook(queryClient, workspaceId, changed);
        onClose();
        notifications.show({ message: "Webhook saved." });
      },
      onError,
    }),
  );
  const initialValues = valuesOf(base);
  return (
    <WebhookForm
      initialValues={initialValues}
      action="Save"
      error={omitReported(update.error)}
      notice={notice}
      isBusy={update.isPending}
      onSubmit={(fields) => {
        const changes = changedFields(fieldsOf(initialValues), fields);
        if (Object.keys(changes).length === 0) return onClose();
        clear();
        update.mutate({ ...path, version: base.version, changes });
      }}
      onCancel={onClose}
    />
  );
}
