import { Modal } from "@mantine/core";
import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { trpc } from "../../server/trpc.ts";
import { closeUnlessBusy } from "../../ui/close-unless-busy.ts";
import { ApiKeyForm } from "./api-key-form.tsx";
import { NewSecret } from "./new-secret.tsx";

interface NewApiKeyDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

interface CreatedKey {
  readonly name: string;
  /** The key itself. It is in this state and nowhere else, so that closing or reloading forgets it. */
  readonly secret: string;
}

const empty = { name: "", description: "" };

/** Asks for a name, then shows the new key once. */
export function NewApiKeyDialog({ isOpen, onClose }: NewApiKeyDialogProps): ReactElement {
  const [created, setCreated] = useState<CreatedKey>();
  const [isDirty, setIsDirty] = useState(false);
  const [isCopied, setIsCopied] = useState(false);
  const [isWarned, setIsWarned] = useState(false);
  const isSaving = useIsMutating({ mutationKey: trpc.apiKeys.create.mutationKey() }) > 0;
  const close = () => {
    onClose();
    setCreated(undefined);
    setIsCopied(false);
    setIsWarned(false);
  };
  // "Done" and Escape are easily pressed too early, and a key that was not copied is lost.
  const closeUnlessUncopied = () => (created && !isCopied && !isWarned ? setIsWarned(true) : close());

  return (
    <Modal
      opened={isOpen}
      {...closeUnlessBusy(isSaving, closeUnlessUncopied)}
      closeOnClickOutside={!created && !isDirty}
      title={created ? "Copy your new key" : "New API key"}
      size={created ? 640 : 480}
    >
      {created ? (
        <NewSecret
          {...created}
          isCopied={isCopied}
          isWarned={isWarned && !isCopied}
          onCopied={() => setIsCopied(true)}
          onDone={closeUnlessUncopied}
        />
      ) : (
        <NewApiKeyForm onCreated={setCreated} onCancel={close} onDirty={setIsDirty} />
      )}
    </Modal>
  );
}

interface NewApiKeyFormProps {
  readonly onCreated: (created: CreatedKey) => void;
  readonly onCancel: () => void;
  readonly onDirty: (isDirty: boolean) => void;
}

/** It is gone once the key is there, and the call with it, whose answer holds the secret. */
function NewApiKeyForm({ onCreated, ...props }: NewApiKeyFormProps): ReactElement {
  const queryClient = useQueryClient();
  const create = useMutation(
    trpc.apiKeys.create.mutationOptions({
      // The answer must not stay in the mutation cache.
      gcTime: 0,
      onSuccess: ({ key }, { name }) => {
        onCreated({ name, secret: key });
        void queryClient.invalidateQueries({ queryKey: trpc.apiKeys.pathKey() });
      },
    }),
  );
  return <ApiKeyForm {...props} initialValues={empty} onSave={create.mutateAsync} />;
}
