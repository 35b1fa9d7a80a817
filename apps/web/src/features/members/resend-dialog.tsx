import { Button, Group } from "@mantine/core";
import { useIsMutating, useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { type ReactElement, useContext } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type Invitation, type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { ConfirmActions } from "../../ui/confirm-actions.tsx";
import classes from "../../ui/dialog.module.css";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { CurrentCloseGuard, usePendingSecrets } from "../../ui/uncopied-secrets.ts";
import { InvitationLink } from "./invitation-link.tsx";

interface ResendDialogProps {
  readonly workspace: SessionWorkspace;
  /** The dialog is open if it is defined. */
  readonly invitation: Invitation | undefined;
  readonly onClose: () => void;
}

/** Creates a new link for an invitation, and shows it. */
export function ResendDialog(props: ResendDialogProps): ReactElement {
  const { invitation, onClose } = props;
  const isSending = useIsMutating({ mutationKey: trpc.invitations.resend.mutationKey() }) > 0;
  return (
    <FormDialog
      isOpen={invitation !== undefined}
      isBusy={isSending}
      title={invitation && `Invite ${invitation.email} again?`}
      size={560}
      onClose={onClose}
    >
      {invitation && <Resend {...props} invitation={invitation} />}
    </FormDialog>
  );
}

function Resend({
  workspace,
  invitation,
  onClose,
}: ResendDialogProps & { readonly invitation: Invitation }): ReactElement {
  const { sendsEmail } = useSuspenseQuery(trpc.instance.get.queryOptions()).data;
  const queryClient = useQueryClient();
  const refresh = () => queryClient.invalidateQueries({ queryKey: trpc.invitations.list.pathKey() });
  const resend = useMutation(
    trpc.invitations.resend.mutationOptions({ onSuccess: refresh, onError: refresh }),
  );
  const { attempt } = useContext(CurrentCloseGuard);
  // Beyond ten emails to one person, the response has the link.
  usePendingSecrets(resend.isPending);
  if (resend.data) {
    return (
      <>
        <InvitationLink invitation={resend.data} />
        <Group justify="flex-end">
          <Button onClick={() => attempt(onClose)} autoFocus={resend.data.url === undefined}>
            Done
          </Button>
        </Group>
      </>
    );
  }
  return (
    <>
      <p className={classes.words}>
        {sendsEmail
          ? "This emails a new link, or shows it here for you to send if the person got ten emails with invitations in the last hour."
          : "This creates a new link, which is shown here, once, for you to send."}{" "}
        It is valid for seven days. The old link stops working.
      </p>
      <ConfirmActions
        action="Create a new link"
        failure={resend.error ? describeFailure(resend.error) : undefined}
        isBusy={resend.isPending}
        isDangerous={false}
        onCancel={onClose}
        onConfirm={() => resend.mutate({ workspaceId: workspace.id, id: invitation.id })}
      />
    </>
  );
}
