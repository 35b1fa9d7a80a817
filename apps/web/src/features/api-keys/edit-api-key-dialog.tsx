import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { describeFailure, type Failure } from "../../server/failure.ts";
import { type ApiKey, trpc } from "../../server/trpc.ts";
import { useConflict } from "../../server/use-conflict.tsx";
import { changedFields } from "../../ui/changed-fields.ts";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { Quoted } from "../../ui/quoted.tsx";
import { ApiKeyForm } from "./api-key-form.tsx";
import type { ApiKeyValues } from "./api-key-values.ts";

interface EditApiKeyDialogProps {
  /** The key to edit, as it was when the dialog was opened. The dialog is open if it is defined. */
  readonly apiKey: ApiKey | undefined;
  readonly onClose: () => void;
}

export function EditApiKeyDialog({ apiKey, onClose }: EditApiKeyDialogProps): ReactElement {
  const [isSaving, setIsSaving] = useState(false);
  return (
    <FormDialog
      isOpen={apiKey !== undefined}
      isBusy={isSaving}
      title="Edit API key"
      size={480}
      onClose={onClose}
    >
      {apiKey && <EditForm apiKey={apiKey} onClose={onClose} onSaving={setIsSaving} />}
    </FormDialog>
  );
}

interface EditFormProps {
  readonly apiKey: ApiKey;
  readonly onClose: () => void;
  readonly onSaving: (isSaving: boolean) => void;
}

/** Saves only if the key still has the version that the user saw, and only the fields that the user changed. */
function EditForm({ apiKey, onClose, onSaving }: EditFormProps): ReactElement {
  const queryClient = useQueryClient();
  const { id } = apiKey;
  const { base, notice, clear, onError } = useConflict({
    noun: "API key",
    item: apiKey,
    load: () => queryClient.fetchQuery(trpc.apiKeys.get.queryOptions({ id }, { staleTime: 0 })),
    describe: ({ name, description }) => ({ Name: name, Description: description }),
  });
  const save = useSave(onClose);
  const initialValues = { name: base.name, description: base.description };
  const send = async (values: ApiKeyValues) => {
    const changes = changedFields(initialValues, values);
    if (Object.keys(changes).length === 0) return onClose();
    clear();
    onSaving(true);
    try {
      await save.mutateAsync({ id, version: base.version, ...changes });
    } catch (error) {
      if (!(await onError(error))) throw error;
    } finally {
      onSaving(false);
    }
  };
  return (
    <ApiKeyForm
      initialValues={initialValues}
      onSave={send}
      onCancel={onClose}
      notice={notice}
      describe={describeRejection}
    />
  );
}

/** Saves a key and refreshes the lists, even if the key was deleted or changed. */
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
              <Quoted>{name}</Quoted> was saved.
            </>
          ),
        });
      },
      onError: (error) => {
        const { code } = describeFailure(error);
        if (code === "NOT_FOUND" || code === "PRECONDITION_FAILED") void refresh();
      },
    }),
  );
}

function describeRejection({ code, message }: Failure): string {
  return code === "NOT_FOUND" ? "This key was deleted. Your changes weren’t saved." : message;
}
