import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { isResponseLost } from "../../server/failure.ts";
import { type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { KeyspaceForm } from "./keyspace-form.tsx";
import { emptyKeyspace } from "./keyspace-values.ts";

interface NewKeyspaceDialogProps {
  readonly workspace: SessionWorkspace;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Creates a keyspace, then opens its page. */
export function NewKeyspaceDialog(props: NewKeyspaceDialogProps): ReactElement {
  const { isOpen, onClose } = props;
  const isCreating = useIsMutating({ mutationKey: trpc.keyspaces.create.mutationKey() }) > 0;
  return (
    <FormDialog isOpen={isOpen} isBusy={isCreating} title="New keyspace" size={560} onClose={onClose}>
      <Form {...props} />
    </FormDialog>
  );
}

function Form({ workspace, onClose }: NewKeyspaceDialogProps): ReactElement {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const refresh = () => queryClient.invalidateQueries({ queryKey: trpc.keyspaces.list.pathKey() });
  const create = useMutation(
    trpc.keyspaces.create.mutationOptions({
      onSuccess: (keyspace) => {
        const path = { workspaceId: workspace.id, keyspaceId: keyspace.id };
        queryClient.setQueryData(trpc.keyspaces.get.queryKey(path), keyspace);
        void refresh();
      },
      // If the response was lost, the keyspace may be in the list.
      onError: (error) => {
        if (isResponseLost(error)) void refresh();
      },
    }),
  );
  return (
    <KeyspaceForm
      initialValues={emptyKeyspace}
      action="Create keyspace"
      error={create.error}
      lostResponse="The server didn’t respond. The keyspace may have been created. If it’s in the list of keyspaces, use it, or delete it before you try again."
      isBusy={create.isPending}
      onSubmit={(fields, markSaved) =>
        create.mutate(
          { workspaceId: workspace.id, fields },
          {
            onSuccess: ({ id }) => {
              markSaved();
              onClose();
              void navigate({
                to: "/w/$slug/keyspaces/$keyspaceId",
                params: { slug: workspace.slug, keyspaceId: id },
              });
            },
          },
        )
      }
      onCancel={onClose}
    />
  );
}
