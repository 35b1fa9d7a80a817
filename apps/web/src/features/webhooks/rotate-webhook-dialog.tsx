import { Select } from "@mantine/core";
import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { describeFailure, isResponseLost } from "../../server/failure.ts";
import { trpc, type Webhook } from "../../server/trpc.ts";
import classes from "../../ui/dialog.module.css";
import { describeExactly } from "../../ui/elapsed.ts";
import { FormActions } from "../../ui/form-actions.tsx";
import { FormFailure } from "../../ui/form-failure.tsx";
import { SecretDialog, type SecretFormProps } from "../../ui/secret-dialog.tsx";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import { showWebhook } from "./use-webhooks.ts";
import { webhookSecret } from "./webhook-secret-kind.ts";

/** How long messages are also signed with the old secret, in seconds. */
const overlaps = [
  { value: "3600", label: "1 hour" },
  { value: "86400", label: "24 hours" },
  { value: "604800", label: "7 days" },
  { value: "0", label: "Not at all" },
];
const defaultOverlap = "86400";
/**
 * A webhook has at most one old secret. If the response to a rotation is lost and the secret is rotated again, the receiving server
 * has neither of the two secrets that sign messages.
 */
const lostResponse =
  "The server didn’t respond. The secret may have been rotated. If it was, and you rotate it again, the secret that your server has stops signing messages immediately, and your server rejects messages until it has the new secret.";

interface RotateWebhookDialogProps {
  readonly workspaceId: string;
  readonly webhook: Webhook;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Rotates the secret of a webhook, then shows the new one once. */
export function RotateWebhookDialog(props: RotateWebhookDialogProps): ReactElement {
  const { isOpen, onClose } = props;
  const isRotating = useIsMutating({ mutationKey: trpc.webhooks.rotateSecret.mutationKey() }) > 0;
  return (
    <SecretDialog
      isOpen={isOpen}
      isBusy={isRotating}
      title="Rotate the secret"
      kind={webhookSecret}
      onClose={onClose}
      form={(formProps) => <Form {...props} {...formProps} />}
    />
  );
}

/** Unmounts when the secret is rotated, so that its mutation, whose response has the secret, is garbage collected. */
function Form(props: RotateWebhookDialogProps & SecretFormProps): ReactElement {
  const { workspaceId, webhook, onCreated, onCancel } = props;
  const queryClient = useQueryClient();
  const [overlap, setOverlap] = useState(defaultOverlap);
  useUnsavedInput(() => overlap !== defaultOverlap);
  const rotate = useMutation(
    trpc.webhooks.rotateSecret.mutationOptions({
      onSuccess: ({ secret, secretStatus: _secretStatus, ...rotated }) => {
        onCreated({ name: "", secret });
        void showWebhook(queryClient, workspaceId, rotated);
      },
      // If the response was lost, the page and the form can show that the secret was rotated.
      onError: (error) => {
        if (isResponseLost(error)) void queryClient.invalidateQueries({ queryKey: trpc.webhooks.pathKey() });
      },
    }),
  );
  const failure = rotate.error ? describeFailure(rotate.error) : undefined;
  const { formerSecretExpiresAt } = webhook;
  return (
    <form
      className={classes.form}
      onSubmit={(event) => {
        event.preventDefault();
        if (!rotate.isPending)
          rotate.mutate({ workspaceId, id: webhook.id, overlapSeconds: Number(overlap) });
      }}
    >
      <p className={classes.words}>
        The webhook gets a new secret. Until the overlap ends, messages have two signatures, so that your
        server can verify them with either secret.
      </p>
      {formerSecretExpiresAt !== null && (
        <p className={classes.words}>
          The previous secret still signs messages until {describeExactly(new Date(formerSecretExpiresAt))}.
          If you rotate now, it stops immediately. First make sure that your server uses the current secret.
        </p>
      )}
      {failure && (
        <FormFailure
          message={failure.code === "NO_ANSWER" ? lostResponse : failure.message}
          requestId={failure.requestId}
        />
      )}
      <Select
        label="Also sign with the old secret"
        data={overlaps}
        value={overlap}
        allowDeselect={false}
        data-autofocus
        onChange={(value) => value !== null && setOverlap(value)}
      />
      <FormActions action="Rotate secret" isBusy={rotate.isPending} onCancel={onCancel} />
    </form>
  );
}
