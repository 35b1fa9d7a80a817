import { useIsMutating, useMutation } from "@tanstack/react-query";
import { type ReactElement, type ReactNode, useState } from "react";
import { isResponseLost } from "../../server/failure.ts";
import { RotationForm } from "../../server/rotation-form.tsx";
import { type BulkRotation, trpc } from "../../server/trpc.ts";
import { countOf } from "../../ui/count.ts";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { usePendingSecrets } from "../../ui/uncopied-secrets.ts";
import { watchPage } from "../../ui/watch-page.ts";
import { refreshKeys } from "./refresh-keys.ts";
import { RotatedKeys } from "./rotated-keys.tsx";
import type { KeyspacePath } from "./use-keyspaces.ts";

interface RotateIssuedKeysDialogProps {
  readonly isOpen: boolean;
  readonly path: KeyspacePath;
  readonly title: ReactNode;
  readonly choice: { readonly keyIds: readonly string[] } | { readonly externalId: string };
  /** How many keys are expected to get a new secret. */
  readonly keyCount: number;
  /** Called when the keys have new secrets, which the dialog still shows, unless the user has opened another page. */
  readonly onRotated?: () => void;
  readonly onClose: () => void;
}

/** Rotates several keys, then offers their new secrets as a file, once. */
export function RotateIssuedKeysDialog(props: RotateIssuedKeysDialogProps): ReactElement {
  const { isOpen, title, onRotated, onClose } = props;
  const isRotating = useIsMutating({ mutationKey: trpc.issuedKeyBulk.rotate.mutationKey() }) > 0;
  usePendingSecrets(isRotating);
  // The secrets are stored only here, so that closing or reloading discards them.
  const [result, setResult] = useState<BulkRotation>();
  const close = () => {
    onClose();
    // The button that opened the dialog was removed with the selection.
    if (result && onRotated) document.getElementById("content")?.focus();
    setResult(undefined);
  };
  return (
    <FormDialog
      isOpen={isOpen}
      isBusy={isRotating}
      closeOnClickOutside={!result}
      title={result ? titleOf(result) : title}
      size={520}
      onClose={close}
    >
      {result ? (
        <RotatedKeys result={result} onDone={close} />
      ) : (
        <Form
          {...props}
          onCancel={close}
          onDone={(rotation, isPageOpen) => {
            setResult(rotation);
            // Clearing the selection navigates, which would return the user to the list that they have left.
            if (isPageOpen) onRotated?.();
          }}
        />
      )}
    </FormDialog>
  );
}

function titleOf({ rotated }: BulkRotation): string {
  return rotated.length > 0 ? "Download the new secrets" : "No key was rotated";
}

interface FormProps extends RotateIssuedKeysDialogProps {
  readonly onDone: (result: BulkRotation, isPageOpen: boolean) => void;
  readonly onCancel: () => void;
}

/** Unmounts when the keys are rotated, so that its mutation, whose response has the secrets, is garbage collected. */
function Form({ path, choice, keyCount, onDone, onCancel }: FormProps): ReactElement {
  const rotate = useMutation(
    trpc.issuedKeyBulk.rotate.mutationOptions({
      onMutate: watchPage,
      onSuccess: (result, _input, isPageOpen) => {
        onDone(result, isPageOpen());
        void refreshKeys();
      },
      // If the response was lost, the page can show that keys were rotated.
      onError: (error) => {
        if (isResponseLost(error)) void refreshKeys();
      },
    }),
  );
  const keys = countOf(keyCount, "key", "keys");
  return (
    <RotationForm
      explanation={`${keys} ${
        keyCount === 1 ? "gets a new secret and keeps its" : "get new secrets and keep their"
      } settings. Consumers can replace an old secret while it is still valid. You download the new secrets as a file in the next step.`}
      keyCount={keyCount}
      action={`Rotate ${keys}`}
      error={rotate.error}
      isBusy={rotate.isPending}
      onRotate={(overlapSeconds) =>
        rotate.mutate({ ...path, rotation: { ...toRequest(choice), overlapSeconds } })
      }
      onCancel={onCancel}
    />
  );
}

function toRequest(choice: RotateIssuedKeysDialogProps["choice"]) {
  return "keyIds" in choice ? { keyIds: [...choice.keyIds] } : choice;
}
