import { notifications } from "@mantine/notifications";
import { useMutation } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { useSessionChanges } from "../../server/use-session-changes.ts";
import { ConfirmActions } from "../../ui/confirm-actions.tsx";
import classes from "../../ui/dialog.module.css";
import { Quoted } from "../../ui/quoted.tsx";

interface LeaveConfirmationProps {
  readonly workspace: SessionWorkspace;
  readonly onClose: () => void;
}

/** The content of the dialog with which the user leaves a workspace. */
export function LeaveConfirmation({ workspace, onClose }: LeaveConfirmationProps): ReactElement {
  const sessionChanges = useSessionChanges();
  const leave = useMutation(
    trpc.members.leave.mutationOptions({
      onSuccess: async () => {
        await sessionChanges.remove(workspace.id);
        notifications.show({
          message: (
            <>
              You have left <Quoted>{workspace.name}</Quoted>.
            </>
          ),
        });
      },
    }),
  );
  return (
    <>
      <p className={classes.words}>
        Your API keys lose access to <Quoted>{workspace.name}</Quoted> immediately, and you no longer see it.
        Your account and other workspaces are not affected. To rejoin, you need an invitation.
      </p>
      <ConfirmActions
        action="Leave"
        failure={leave.error ? describeFailure(leave.error) : undefined}
        isBusy={leave.isPending}
        onCancel={onClose}
        onConfirm={() => leave.mutate({ workspaceId: workspace.id })}
      />
    </>
  );
}
