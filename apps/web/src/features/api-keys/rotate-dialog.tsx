import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { isResponseLost } from "../../server/failure.ts";
import { RotationForm } from "../../server/rotation-form.tsx";
import { type ApiKey, trpc } from "../../server/trpc.ts";
import { Quoted } from "../../ui/quoted.tsx";
import type { SecretFormProps } from "../../ui/secret-dialog.tsx";
import { ApiKeySecretDialog } from "./api-key-secret-dialog.tsx";

interface RotateDialogProps {
  readonly apiKey: ApiKey;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Rotates a key and shows the new secret once. */
export function RotateDialog({ apiKey, isOpen, onClose }: RotateDialogProps): ReactElement {
  const isRotating = useIsMutating({ mutationKey: trpc.apiKeys.rotate.mutationKey() }) > 0;
  return (
    <ApiKeySecretDialog
      isOpen={isOpen}
      isBusy={isRotating}
      title={
        <>
          Rotate <Quoted>{apiKey.name}</Quoted>
        </>
      }
      onClose={onClose}
      form={(formProps) => <RotateForm {...formProps} apiKey={apiKey} />}
    />
  );
}

interface RotateFormProps extends SecretFormProps {
  readonly apiKey: ApiKey;
}

/**
 * Unmounts when the key is rotated. Its mutation, whose response contains the secret, is then
 * garbage collected.
 */
function RotateForm({ apiKey, onCreated, onCancel }: RotateFormProps): ReactElement {
  const queryClient = useQueryClient();
  const refresh = () => queryClient.invalidateQueries({ queryKey: trpc.apiKeys.pathKey() });
  const rotate = useMutation(
    trpc.apiKeys.rotate.mutationOptions({
      onSuccess: ({ key }) => {
        onCreated({ name: apiKey.name, secret: key });
        void refresh();
      },
      // If the response was lost, the page can show that the key was rotated.
      onError: (error) => {
        if (isResponseLost(error)) void refresh();
      },
    }),
  );
  return (
    <RotationForm
      explanation="The key gets a new secret and keeps its settings. Replace the old secret wherever it is used while it is still valid."
      keyCount={1}
      action="Rotate key"
      error={rotate.error}
      isBusy={rotate.isPending}
      onRotate={(overlapSeconds) => rotate.mutate({ id: apiKey.id, overlapSeconds })}
      onCancel={onCancel}
    />
  );
}
