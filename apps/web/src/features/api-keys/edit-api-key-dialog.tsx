import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { describeFailure, type Failure } from "../../server/failure.ts";
import { type ApiKey, trpc } from "../../server/trpc.ts";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { Quoted } from "../../ui/quoted.tsx";
import { ApiKeyForm } from "./api-key-form.tsx";
import { KeyConflict } from "./key-conflict.tsx";

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

/**
 * Saves only if the key still has the version that the user saw. A conflict restarts it from the
 * current version.
 */
function EditForm({ apiKey, onClose, onSaving }: EditFormProps): ReactElement {
  const [base, setBase] = useState(apiKey);
  const [hasConflict, setHasConflict] = useState(false);
  const save = useSave(onClose, (latest) => {
    setBase(latest);
    setHasConflict(true);
  });
  const send = async (values: { readonly name: string; readonly description: string }) => {
    onSaving(true);
    try {
      await save.mutateAsync({ id: base.id, version: base.version, ...values });
    } finally {
      onSaving(false);
    }
  };
  return (
    <>
      {hasConflict && <KeyConflict key={`conflict-${base.version}`} />}
      <ApiKeyForm
        key={base.version}
        initialValues={{ name: base.name, description: base.description }}
        onSave={send}
        onCancel={onClose}
        describe={describeRejection}
      />
    </>
  );
}

/**
 * Saves a key and refreshes the lists, even if the key was deleted. Passes the current key to
 * `onConflict`.
 */
function useSave(onSaved: () => void, onConflict: (latest: ApiKey) => void) {
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
      onError: async (error, { id }) => {
        const { code } = describeFailure(error);
        if (code === "NOT_FOUND") void refresh();
        if (code !== "PRECONDITION_FAILED") return;
        onConflict(await queryClient.fetchQuery(trpc.apiKeys.get.queryOptions({ id }, { staleTime: 0 })));
        void refresh();
      },
    }),
  );
}

function describeRejection({ code, message }: Failure): string {
  return code === "NOT_FOUND" ? "This key was deleted. Your changes weren’t saved." : message;
}
