import { notifications } from "@mantine/notifications";
import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useContext, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import { roleTitles } from "../../server/roles.ts";
import { type Member, type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { ConfirmActions } from "../../ui/confirm-actions.tsx";
import classes from "../../ui/dialog.module.css";
import { describeElapsed, describeExactly } from "../../ui/elapsed.ts";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { Quoted } from "../../ui/quoted.tsx";
import { CurrentCloseGuard } from "../../ui/uncopied-secrets.ts";
import { useNow } from "../../ui/use-now.ts";
import { KeyImpact } from "./key-impact.tsx";
import { LeaveConfirmation } from "./leave-confirmation.tsx";
import { refreshMembers } from "./refresh-members.ts";
import { useIsReplacingKeys } from "./use-is-replacing-keys.ts";

interface RemoveMemberDialogProps {
  readonly workspace: SessionWorkspace;
  readonly ownId: string;
  /** Whether the user may manage members, and therefore create service accounts. */
  readonly canManage: boolean;
  /** The member to remove, or the user, to leave. The dialog is open if it is defined. */
  readonly member: Member | undefined;
  readonly onClose: () => void;
}

export function RemoveMemberDialog(props: RemoveMemberDialogProps): ReactElement {
  const { workspace, ownId, canManage, member, onClose } = props;
  const removals = useIsMutating({ mutationKey: trpc.members.remove.mutationKey() });
  const isReplacing = useIsReplacingKeys();
  const isChanging = removals + useIsMutating({ mutationKey: trpc.members.leave.mutationKey() }) > 0;
  return (
    <FormDialog
      isOpen={member !== undefined}
      isBusy={isChanging || isReplacing}
      title={
        member &&
        (member.userId === ownId ? (
          <>
            Leave <Quoted>{workspace.name}</Quoted>?
          </>
        ) : (
          <>
            {member.kind === "person" ? "Remove" : "Delete"} <Quoted>{member.name}</Quoted>?
          </>
        ))
      }
      size={480}
      onClose={onClose}
    >
      {member &&
        (member.userId === ownId ? (
          <LeaveConfirmation
            workspace={workspace}
            user={{ id: ownId, name: member.name }}
            canReplaceKeys={canManage}
            onClose={onClose}
          />
        ) : (
          <RemoveConfirmation {...props} member={member} />
        ))}
    </FormDialog>
  );
}

type ConfirmationProps = RemoveMemberDialogProps & { readonly member: Member };

function RemoveConfirmation({ workspace, member, onClose }: ConfirmationProps): ReactElement {
  const queryClient = useQueryClient();
  const now = useNow();
  const joinedAt = new Date(member.joinedAt);
  const [isReplaced, setIsReplaced] = useState(false);
  const isReplacing = useIsReplacingKeys();
  const { attempt, mayClose, discard } = useContext(CurrentCloseGuard);
  const cancelLabel = "Keep for now";
  const closeAndNotify = async (outcome: string) => {
    discard();
    await refreshMembers();
    onClose();
    // The button that opened the dialog was removed with its row, so the focus moves to the page.
    document.getElementById("content")?.focus();
    notifications.show({
      message: (
        <>
          <Quoted>{member.name}</Quoted> {outcome}
        </>
      ),
    });
  };
  const remove = useMutation(
    trpc.members.remove.mutationOptions({
      onSuccess: () =>
        closeAndNotify(
          member.kind === "person"
            ? "is no longer a member. Their keys no longer reach the workspace."
            : "was deleted. Its keys are rejected.",
        ),
      onError: async (error) => {
        const { code } = describeFailure(error);
        if (code === "NOT_FOUND") await closeAndNotify("was already removed.");
        else await queryClient.invalidateQueries({ queryKey: trpc.workspaces.get.pathKey() });
      },
    }),
  );
  return (
    <>
      <p className={classes.words}>
        {member.kind === "person" ? (
          <>
            This person can no longer see <Quoted>{workspace.name}</Quoted>, and their API keys lose access to
            it immediately. Their account and other workspaces are not affected.
          </>
        ) : (
          "The service account is deleted with all of its API keys, whose requests are rejected immediately. This can’t be undone."
        )}
      </p>
      <dl className={classes.facts}>
        {member.email !== null && (
          <>
            <dt>Email address</dt>
            <dd>{member.email}</dd>
          </>
        )}
        <dt>Role</dt>
        <dd>{roleTitles[member.role]}</dd>
        <dt>Joined</dt>
        <dd>
          {describeElapsed(joinedAt, now)} ({describeExactly(joinedAt)})
        </dd>
      </dl>
      {member.kind === "person" && (
        <KeyImpact
          workspace={workspace}
          member={member}
          cancelLabel={cancelLabel}
          onReplaced={() => setIsReplaced(true)}
        />
      )}
      <ConfirmActions
        isSticky
        action={member.kind === "person" ? "Remove member" : "Delete service account"}
        {...(isReplaced && { cancelLabel })}
        failure={remove.error ? describeFailure(remove.error) : undefined}
        isBusy={remove.isPending}
        isDisabled={isReplacing}
        onCancel={() => attempt(onClose)}
        onConfirm={() => {
          if (mayClose()) remove.mutate({ workspaceId: workspace.id, userId: member.userId });
        }}
      />
    </>
  );
}
