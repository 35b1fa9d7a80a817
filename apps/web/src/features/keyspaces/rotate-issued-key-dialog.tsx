import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { isResponseLost } from "../../server/failure.ts";
import { RotationForm } from "../../server/rotation-form.tsx";
import { type IssuedKey, trpc } from "../../server/trpc.ts";
import { titleOfKey } from "../../ui/issued-key-title.ts";
import { Quoted } from "../../ui/quoted.tsx";
import type { SecretFormProps } from "../../ui/secret-dialog.tsx";
import { IssuedSecretDialog } from "./issued-secret-dialog.tsx";

interface RotateIssuedKeyDialogProps {
  readonly workspaceId: string;
  readonly issuedKey: IssuedKey;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Rotates a key, then shows its new secret once. */
export function RotateIssuedKeyDialog(props: RotateIssuedKeyDialogProps): ReactElement {
  const { issuedKey, isOpen, onClose } = props;
  const isRotating = useIsMutating({ mutationKey: trpc.issuedKeys.rotate.mutationKey() }) > 0;
  return (
    <IssuedSecretDialog
      isOpen={isOpen}
      isBusy={isRotating}
      title={
        <>
          Rotate <Quoted>{titleOfKey(issuedKey)}</Quoted>
        </>
      }
      onClose={onClose}
      form={(formProps) => <Form {...props} {...formProps} />}
    />
  );
}

/** Unmounts when the key is rotated, so that its mutation, whose response has the secret, is garbage collected. */
function Form(props: RotateIssuedKeyDialogProps & SecretFormProps): ReactElement {
  const { workspaceId, issuedKey, onCreated, onCancel } = props;
  const queryClient = useQueryClient();
  const refresh = () => queryClient.invalidateQueries({ queryKey: trpc.issuedKeys.pathKey() });
  const rotate = useMutation(
    trpc.issuedKeys.rotate.mutationOptions({
      onSuccess: ({ name, key }) => {
        onCreated({ name, secret: key });
        void refresh();
      },
      // If the response was lost, the page can show that the key was rotated.
      onError: (error) => {
        if (isResponseLost(error)) void refresh();
      },
    }),
  );
  const { id, keyspaceId } = issuedKey;
  return (
    <RotationForm
      explanation="The key gets a new secret and keeps its settings. The consumer can replace the old secret while it is still valid."
      keyCount={1}
      action="Rotate key"
      error={rotate.error}
      isBusy={rotate.isPending}
      onRotate={(overlapSeconds) => rotate.mutate({ workspaceId, keyspaceId, id, overlapSeconds })}
      onCancel={onCancel}
    />
  );
}
