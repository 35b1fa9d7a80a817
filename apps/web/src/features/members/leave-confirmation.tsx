import { notifications } from "@mantine/notifications";
import { useMutation } from "@tanstack/react-query";
import { type ReactElement, useContext, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { useSessionChanges } from "../../server/use-session-changes.ts";
import { ConfirmActions } from "../../ui/confirm-actions.tsx";
import classes from "../../ui/dialog.module.css";
import { Quoted } from "../../ui/quoted.tsx";
import { CurrentCloseGuard } from "../../ui/uncopied-secrets.ts";
import { KeyImpact } from "./key-impact.tsx";
import { useIsReplacingKeys } from "./use-is-replacing-keys.ts";

interface LeaveConfirmationProps {
  readonly workspace: SessionWorkspace;
  readonly user: { readonly id: string; readonly name: string };
  /** Whether the user may create a service account that replaces their API keys. */
  readonly canReplaceKeys: boolean;
  readonly onClose: () => void;
}

/** The content of the dialog with which the user leaves a workspace. */
export function LeaveConfirmation(props: LeaveConfirmationProps): ReactElement {
  const { workspace, user, canReplaceKeys, onClose } = props;
  const [isReplaced, setIsReplaced] = useState(false);
  const isReplacing = useIsReplacingKeys();
  const { attempt, mayClose, discard } = useContext(CurrentCloseGuard);
  const cancelLabel = "Stay for now";
  const sessionChanges = useSessionChanges();
  const leave = useMutation(
    trpc.members.leave.mutationOptions({
      onSuccess: async () => {
        discard();
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
        You can no longer see <Quoted>{workspace.name}</Quoted>, and your API keys lose access to it
        immediately. Your account and other workspaces are not affected. To rejoin, you need an invitation.
      </p>
      <KeyImpact
        workspace={workspace}
        member={{ userId: user.id, name: user.name }}
        isSelf
        canReplace={canReplaceKeys}
        cancelLabel={cancelLabel}
        onReplaced={() => setIsReplaced(true)}
      />
      <ConfirmActions
        isSticky
        action="Leave workspace"
        {...(isReplaced && { cancelLabel })}
        failure={leave.error ? describeFailure(leave.error) : undefined}
        isBusy={leave.isPending}
        isDisabled={isReplacing}
        onCancel={() => attempt(onClose)}
        onConfirm={() => {
          if (mayClose()) leave.mutate({ workspaceId: workspace.id });
        }}
      />
    </>
  );
}
