import { Modal } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type Keyspace, type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { closeUnlessBusy } from "../../ui/close-unless-busy.ts";
import { ConfirmActions } from "../../ui/confirm-actions.tsx";
import classes from "../../ui/dialog.module.css";
import { Quoted } from "../../ui/quoted.tsx";
import { watchPage } from "../../ui/watch-page.ts";
import { describeDeletion } from "./describe-keys.ts";
import { KeyspaceImpact, useKeyspaceImpact } from "./keyspace-impact.tsx";

interface DeleteKeyspaceDialogProps {
  readonly workspace: SessionWorkspace;
  readonly keyspace: Keyspace;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Explains which keys stop working before a keyspace is deleted. */
export function DeleteKeyspaceDialog(props: DeleteKeyspaceDialogProps): ReactElement {
  const { keyspace, isOpen, onClose } = props;
  const isDeleting = useIsMutating({ mutationKey: trpc.keyspaces.delete.mutationKey() }) > 0;
  return (
    <Modal
      opened={isOpen}
      {...closeUnlessBusy(isDeleting, onClose)}
      title={
        <>
          Delete <Quoted>{keyspace.name}</Quoted>?
        </>
      }
      size={480}
    >
      <Confirmation {...props} />
    </Modal>
  );
}

function Confirmation({ workspace, keyspace, onClose }: DeleteKeyspaceDialogProps): ReactElement {
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const path = { workspaceId: workspace.id, keyspaceId: keyspace.id };
  const preview = useKeyspaceImpact(path);
  const remove = useMutation(
    trpc.keyspaces.delete.mutationOptions({
      onMutate: watchPage,
      onSuccess: async (_data, _input, isPageOpen) => {
        onClose();
        if (isPageOpen()) await navigate({ to: "/w/$slug/keyspaces", params: { slug: workspace.slug } });
        // The Back button must not show the deleted keyspace and its keys from the cache.
        queryClient.removeQueries({ queryKey: trpc.keyspaces.get.queryKey(path) });
        queryClient.removeQueries({ queryKey: trpc.issuedKeys.pathKey() });
        await queryClient.invalidateQueries({ queryKey: trpc.keyspaces.list.pathKey() });
        notifications.show({
          message: (
            <>
              <Quoted>{keyspace.name}</Quoted> was deleted. Its keys are no longer valid.
            </>
          ),
        });
      },
    }),
  );
  const error = remove.error ?? preview.error;
  const impact = preview.data;
  return (
    <>
      <p className={classes.words}>{describeDeletion(impact, keyspace)}</p>
      <KeyspaceImpact impact={impact} />
      <ConfirmActions
        action="Delete keyspace"
        failure={error ? describeFailure(error) : undefined}
        isBusy={remove.isPending}
        onCancel={onClose}
        onConfirm={() => remove.mutate(path)}
      />
    </>
  );
}
