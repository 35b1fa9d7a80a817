import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { WebhookForm } from "./webhook-form.tsx";
import { WebhookSecret } from "./webhook-secret.tsx";
import { emptyWebhook } from "./webhook-values.ts";

interface NewWebhookDialogProps {
  readonly workspace: SessionWorkspace;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Creates a webhook, then shows its secret once. */
export function NewWebhookDialog({ workspace, isOpen, onClose }: NewWebhookDialogProps): ReactElement {
  const [secret, setSecret] = useState<string>();
  const isCreating = useIsMutating({ mutationKey: trpc.webhooks.create.mutationKey() }) > 0;
  const close = () => {
    onClose();
    setSecret(undefined);
  };
  return (
    <FormDialog
      isOpen={isOpen}
      isBusy={isCreating}
      title={secret === undefined ? "New webhook" : "Copy the secret"}
      size={560}
      onClose={close}
    >
      {secret === undefined ? (
        <Form workspace={workspace} onCreated={setSecret} onCancel={close} />
      ) : (
        <WebhookSecret secret={secret} onDone={close} />
      )}
    </FormDialog>
  );
}

interface FormProps {
  readonly workspace: SessionWorkspace;
  readonly onCreated: (secret: string) => void;
  readonly onCancel: () => void;
}

/** Unmounts when the webhook is created, so that its mutation, whose response has the secret, is garbage collected. */
function Form({ workspace, onCreated, onCancel }: FormProps): ReactElement {
  const queryClient = useQueryClient();
  const create = useMutation(
    trpc.webhooks.create.mutationOptions({
      // The response contains the secret and must not stay in the mutation cache.
      gcTime: 0,
      onSuccess: ({ secret }) => {
        onCreated(secret);
        void queryClient.invalidateQueries({ queryKey: trpc.webhooks.pathKey() });
      },
    }),
  );
  return (
    <WebhookForm
      initialValues={emptyWebhook}
      action="Create webhook"
      error={create.error}
      isBusy={create.isPending}
      onSubmit={(fields) => create.mutate({ workspaceId: workspace.id, ...fields })}
      onCancel={onCancel}
    />
  );
}
