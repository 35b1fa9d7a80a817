import { notifications } from "@mantine/notifications";
import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type IssuedKey, trpc } from "../../server/trpc.ts";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { ConflictNotice } from "./conflict-notice.tsx";
import { IssuedKeyForm } from "./issued-key-form.tsx";
import { changesOfKey, fieldsOfKey, valuesOfKey } from "./issued-key-values.ts";

interface EditIssuedKeyDialogProps {
  readonly workspaceId: string;
  readonly issuedKey: IssuedKey;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function EditIssuedKeyDialog(props: EditIssuedKeyDialogProps): ReactElement {
  const { isOpen, onClose } = props;
  const isSaving = useIsMutating({ mutationKey: trpc.issuedKeys.update.mutationKey() }) > 0;
  return (
    <FormDialog isOpen={isOpen} isBusy={isSaving} title="Edit key" size={560} onClose={onClose}>
      <Form {...props} />
    </FormDialog>
  );
}

/** Saves only if the key still has the version that the user saw. A conflict restarts the form from the current version. */
function Form({ workspaceId, issuedKey, onClose }: EditIssuedKeyDialogProps): ReactElement {
  const queryClient = useQueryClient();
  // The page reads the key again while the dialog is open.
  const [base, setBase] = useState(issuedKey);
  const [hasConflict, setHasConflict] = useState(false);
  const path = { workspaceId, keyspaceId: issuedKey.keyspaceId, id: issuedKey.id };
  const update = useMutation(
    trpc.issuedKeys.update.mutationOptions({
      onSuccess: async () => {
        await queryClient.invalidateQueries({ queryKey: trpc.issuedKeys.pathKey() });
        onClose();
        notifications.show({ message: "Key saved." });
      },
      onError: async (error) => {
        if (describeFailure(error).code !== "PRECONDITION_FAILED") return;
        const options = trpc.issuedKeys.get.queryOptions(path, { staleTime: 0 });
        setBase(await queryClient.fetchQuery(options));
        setHasConflict(true);
      },
    }),
  );
  const initialValues = valuesOfKey(base);
  return (
    <IssuedKeyForm
      key={base.version}
      initialValues={initialValues}
      expiresAt={base.expiresAt}
      action="Save"
      error={hasConflict ? undefined : update.error}
      notice={hasConflict && <ConflictNotice noun="key" />}
      isBusy={update.isPending}
      onSubmit={(fields) => {
        const changes = changesOfKey(fieldsOfKey(initialValues, new Date()), fields);
        if (Object.keys(changes).length === 0) return onClose();
        setHasConflict(false);
        update.mutate({ ...path, version: base.version, changes });
      }}
      onCancel={onClose}
    />
  );
}
