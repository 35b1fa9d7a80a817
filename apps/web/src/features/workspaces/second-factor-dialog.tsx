import { Modal, Skeleton } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { trpc, type Workspace } from "../../server/trpc.ts";
import { closeUnlessBusy } from "../../ui/close-unless-busy.ts";
import { ConfirmActions } from "../../ui/confirm-actions.tsx";
import { countOf } from "../../ui/count.ts";
import classes from "../../ui/dialog.module.css";

interface SecondFactorDialogProps {
  readonly workspace: Workspace;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Requires a second factor from all members, after it has shown who has none; or stops requiring one. */
export function SecondFactorDialog({ workspace, isOpen, onClose }: SecondFactorDialogProps): ReactElement {
  const queryClient = useQueryClient();
  const { id: workspaceId, version, requiresSecondFactor } = workspace;
  const query = trpc.workspaces.get.queryOptions({ workspaceId });
  const update = useMutation(
    trpc.workspaces.update.mutationOptions({
      onSuccess: (updated) => {
        queryClient.setQueryData(query.queryKey, { ...workspace, ...updated });
        onClose();
        notifications.show({
          message: updated.requiresSecondFactor
            ? "Members now need a second factor."
            : "Members no longer need a second factor.",
        });
      },
      onError: (error) => {
        if (describeFailure(error).code === "PRECONDITION_FAILED")
          void queryClient.invalidateQueries({ queryKey: query.queryKey });
      },
    }),
  );
  return (
    <Modal
      opened={isOpen}
      {...closeUnlessBusy(update.isPending, onClose)}
      onExitTransitionEnd={() => update.reset()}
      title={requiresSecondFactor ? "Stop requiring a second factor?" : "Require a second factor?"}
      size={480}
    >
      {requiresSecondFactor ? (
        <p className={classes.words}>
          Members can then use this workspace after a sign-in with only their password.
        </p>
      ) : (
        <AffectedMembers workspaceId={workspaceId} isOpen={isOpen} />
      )}
      <ConfirmActions
        action={requiresSecondFactor ? "Stop requiring second factor" : "Require second factor"}
        failure={update.error ? describeFailure(update.error) : undefined}
        isBusy={update.isPending}
        onCancel={onClose}
        onConfirm={() => update.mutate({ workspaceId, requiresSecondFactor: !requiresSecondFactor, version })}
      />
    </Modal>
  );
}

function AffectedMembers({
  workspaceId,
  isOpen,
}: {
  readonly workspaceId: string;
  readonly isOpen: boolean;
}): ReactElement {
  const affected = useQuery(
    trpc.members.withoutSecondFactor.queryOptions({ workspaceId }, { enabled: isOpen }),
  );
  if (affected.error) return <p className={classes.words}>{describeFailure(affected.error).message}</p>;
  if (!affected.data) return <Skeleton h={40} mb={16} />;
  const { total, members } = affected.data;
  if (total === 0) return <p className={classes.words}>All members have a second factor.</p>;
  return (
    <>
      <p className={classes.words}>
        {countOf(total, "member has", "members have")} no second factor. They can’t open this workspace in the
        web app until they set one up. Their API keys keep working.
      </p>
      <ul className={classes.points}>
        {members.map(({ userId, name, email }) => (
          <li key={userId}>
            <bdi>{name}</bdi> ({email})
          </li>
        ))}
        {total > members.length && <li>and {total - members.length} more</li>}
      </ul>
    </>
  );
}
