import { notifications } from "@mantine/notifications";
import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type Keyspace, type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { changedFields } from "./changed-fields.ts";
import { ConflictNotice } from "./conflict-notice.tsx";
import { KeyspaceForm } from "./keyspace-form.tsx";
import { fieldsOfKeyspace, valuesOfKeyspace } from "./keyspace-values.ts";

interface EditKeyspaceDialogProps {
  readonly workspace: SessionWorkspace;
  readonly keyspace: Keyspace;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function EditKeyspaceDialog(props: EditKeyspaceDialogProps): ReactElement {
  const { isOpen, onClose } = props;
  const isSaving = useIsMutating({ mutationKey: trpc.keyspaces.update.mutationKey() }) > 0;
  return (
    <FormDialog isOpen={isOpen} isBusy={isSaving} title="Edit keyspace" size={560} onClose={onClose}>
      <Form {...props} />
    </FormDialog>
  );
}

/**
 * Saves only if the keyspace still has the version that the user saw. A conflict restarts the form from the current
 * version.
 */
function Form({ workspace, keyspace, onClose }: EditKeyspaceDialogProps): ReactElement {
  const queryClient = useQueryClient();
  const [base, setBase] = useState(keyspace);
  const [hasConflict, setHasConflict] = useState(false);
  const path = { workspaceId: workspace.id, keyspaceId: keyspace.id };
  const update = useMutation(
    trpc.keyspaces.update.mutationOptions({
      onSuccess: async () => {
        await queryClient.invalidateQueries({ queryKey: trpc.keyspaces.pathKey() });
        onClose();
        notifications.show({ message: "Keyspace saved." });
      },
      onError: async (error) => {
        if (describeFailure(error).code !== "PRECONDITION_FAILED") return;
        const options = trpc.keyspaces.get.queryOptions(path, { staleTime: 0 });
        setBase(await queryClient.fetchQuery(options));
        setHasConflict(true);
      },
    }),
  );
  const initialValues = valuesOfKeyspace(base);
  return (
    <KeyspaceForm
      key={base.version}
      initialValues={initialValues}
      action="Save"
      error={hasConflict ? undefined : update.error}
      notice={hasConflict && <ConflictNotice noun="keyspace" />}
      isBusy={update.isPending}
      onSubmit={(fields) => {
        const changes = changedFields(fieldsOfKeyspace(initialValues), fields);
        if (Object.keys(changes).length === 0) return onClose();
        setHasConflict(false);
        update.mutate({ ...path, version: base.version, changes });
      }}
      onCancel={onClose}
    />
  );
}
