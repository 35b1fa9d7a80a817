import { Modal } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { describeFailure, type Failure } from "../../server/failure.ts";
import { type ApiKey, trpc } from "../../server/trpc.ts";
import { closeUnlessBusy } from "../../ui/close-unless-busy.ts";
import { Quoted } from "../../ui/quoted.tsx";
import { ApiKeyForm } from "./api-key-form.tsx";

interface EditApiKeyDialogProps {
  /** The key to edit; the dialog is open while there is one. */
  readonly apiKey: ApiKey | undefined;
  readonly onClose: () => void;
}

export function EditApiKeyDialog({ apiKey, onClose }: EditApiKeyDialogProps): ReactElement {
  const [isDirty, setIsDirty] = useState(false);
  const save = useSave(onClose);
  return (
    <Modal
      opened={apiKey !== undefined}
      {...closeUnlessBusy(save.isPending, onClose)}
      closeOnClickOutside={!isDirty}
      title="Edit API key"
      size={480}
    >
      {apiKey && (
        <ApiKeyForm
          initialValues={{ name: apiKey.name, description: apiKey.description }}
          onSave={(values) => save.mutateAsync({ id: apiKey.id, ...values })}
          onCancel={onClose}
          onDirty={setIsDirty}
          describe={describeRefusal}
        />
      )}
    </Modal>
  );
}

/** Saves what is known of a key. One that is gone meanwhile leaves the list too. */
function useSave(onSaved: () => void) {
  const queryClient = useQueryClient();
  const refresh = () => queryClient.invalidateQueries({ queryKey: trpc.apiKeys.pathKey() });
  return useMutation(
    trpc.apiKeys.update.mutationOptions({
      onSuccess: async ({ name }) => {
        await refresh();
        onSaved();
        notifications.show({
          message: (
            <>
              <Quoted>{name}</Quoted> is saved.
            </>
          ),
        });
      },
      onError: (error) => {
        if (describeFailure(error).code === "NOT_FOUND") void refresh();
      },
    }),
  );
}

function describeRefusal({ code, message }: Failure): string {
  return code === "NOT_FOUND" ? "This key was deleted meanwhile. Nothing was saved." : message;
}
