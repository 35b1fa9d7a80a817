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
import { PolicyPreview } from "./policy-preview.tsx";

interface SecondFactorDialogProps {
  readonly workspace: Workspace;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/**
 * Requires a second factor from all members, after it has shown who has none and which API keys would stop working; or stops
 * requiring one.
 */
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
          Members can then use this workspace after a sign-in with only their password, and so can their API
          keys.
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
  const preview = useQuery(
    trpc.workspaceKeys.previewPolicy.queryOptions(
      { workspaceId, requiresSecondFactor: true },
      { enabled: isOpen, staleTime: 0 },
    ),
  );
  const error = affected.error ?? preview.error;
  if (error) return <p className={classes.words}>{describeFailure(error).message}</p>;
  if (!affected.data || !preview.data) return <Skeleton h={112} mb={16} />;
  const { total, members } = affected.data;
  if (total === 0) return <p className={classes.words}>All members have a second factor.</p>;
  return (
    <>
      <p className={classes.words}>
        {countOf(total, "member has", "members have")} no second factor. Until they set one up, they can’t
        open this workspace in the web app, and their API keys don’t reach it. Service accounts need none.
      </p>
      <ul className={classes.points}>
        {members.map(({ userId, name, email }) => (
          <li key={userId}>
            <bdi>{name}</bdi> ({email})
          </li>
        ))}
        {total > members.length && <li>and {total - members.length} more</li>}
      </ul>
      <PolicyPreview preview={preview.data} />
    </>
  );
}
