import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { isResponseLost } from "../../server/failure.ts";
import { type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { SecretDialog, type SecretFormProps } from "../../ui/secret-dialog.tsx";
import { WebhookForm } from "./webhook-form.tsx";
import { webhookSecret } from "./webhook-secret-kind.ts";
import { emptyWebhook } from "./webhook-values.ts";

interface NewWebhookDialogProps {
  readonly workspace: SessionWorkspace;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Creates a webhook, then shows its secret once. */
export function NewWebhookDialog({ workspace, isOpen, onClose }: NewWebhookDialogProps): ReactElement {
  const isCreating = useIsMutating({ mutationKey: trpc.webhooks.create.mutationKey() }) > 0;
  return (
    <SecretDialog
      isOpen={isOpen}
      isBusy={isCreating}
      title="New webhook"
      kind={webhookSecret}
      onClose={onClose}
      form={(formProps) => <Form {...formProps} workspace={workspace} />}
    />
  );
}

interface FormProps extends SecretFormProps {
  readonly workspace: SessionWorkspace;
}

/** Unmounts when the webhook is created, so that its mutation, whose response has the secret, is garbage collected. */
function Form({ workspace, onCreated, onCancel }: FormProps): ReactElement {
  const queryClient = useQueryClient();
  const refresh = () => queryClient.invalidateQueries({ queryKey: trpc.webhooks.pathKey() });
  const create = useMutation(
    trpc.webhooks.create.mutationOptions({
      onSuccess: ({ secret }) => {
        onCreated({ name: "", secret });
        void refresh();
      },
      // If the response was lost, the webhook may be in the list.
      onError: (error) => {
        if (isResponseLost(error)) void refresh();
      },
    }),
  );
  return (
    <WebhookForm
      initialValues={emptyWebhook}
      action="Create webhook"
      error={create.error}
      lostResponse="The server didn’t respond. The webhook may have been created. If it’s in the list of webhooks, rotate its secret or delete it, because the secret can’t be shown."
      isBusy={create.isPending}
      onSubmit={(fields) => create.mutate({ workspaceId: workspace.id, ...fields })}
      onCancel={onCancel}
    />
  );
}
