import { Modal } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type Invitation, type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { closeUnlessBusy } from "../../ui/close-unless-busy.ts";
import { ConfirmActions } from "../../ui/confirm-actions.tsx";
import classes from "../../ui/dialog.module.css";

interface RevokeDialogProps {
  readonly workspace: SessionWorkspace;
  /** The dialog is open if it is defined. */
  readonly invitation: Invitation | undefined;
  readonly onClose: () => void;
}

/** Asks for confirmation before an invitation is revoked. */
export function RevokeDialog(props: RevokeDialogProps): ReactElement {
  const { invitation, onClose } = props;
  const isRevoking = useIsMutating({ mutationKey: trpc.invitations.revoke.mutationKey() }) > 0;
  return (
    <Modal
      opened={invitation !== undefined}
      {...closeUnlessBusy(isRevoking, onClose)}
      title={invitation && `Revoke the invitation for ${invitation.email}?`}
      size={480}
    >
      {invitation && <Confirmation {...props} invitation={invitation} />}
    </Modal>
  );
}

function Confirmation({
  workspace,
  invitation,
  onClose,
}: RevokeDialogProps & { readonly invitation: Invitation }): ReactElement {
  const queryClient = useQueryClient();
  const closeAndNotify = async (message: string) => {
    await queryClient.invalidateQueries({ queryKey: trpc.invitations.list.pathKey() });
    onClose();
    // The button that opened the dialog was removed with its row, so the focus moves to the page.
    document.getElementById("content")?.focus();
    notifications.show({ message });
  };
  const revoke = useMutation(
    trpc.invitations.revoke.mutationOptions({
      onSuccess: () => closeAndNotify("The invitation was revoked."),
      onError: async (error) => {
        if (describeFailure(error).code === "NOT_FOUND")
          await closeAndNotify("The invitation was already accepted or revoked.");
      },
    }),
  );
  return (
    <>
      <p className={classes.words}>The link stops working immediately. You can invite this person again.</p>
      <ConfirmActions
        action="Revoke invitation"
        failure={revoke.error ? describeFailure(revoke.error) : undefined}
        isBusy={revoke.isPending}
        onCancel={onClose}
        onConfirm={() => revoke.mutate({ workspaceId: workspace.id, id: invitation.id })}
      />
    </>
  );
}
