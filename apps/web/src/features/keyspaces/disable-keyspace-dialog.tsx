import { Modal } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type Keyspace, type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { closeUnlessBusy } from "../../ui/close-unless-busy.ts";
import { ConfirmActions, type ConfirmActionsProps } from "../../ui/confirm-actions.tsx";
import classes from "../../ui/dialog.module.css";
import { Quoted } from "../../ui/quoted.tsx";
import { describeDisabling } from "./describe-keys.ts";
import { KeyspaceImpact, useKeyspaceImpact } from "./keyspace-impact.tsx";

interface DisableKeyspaceDialogProps {
  readonly workspace: SessionWorkspace;
  readonly keyspace: Keyspace;
  /** Whether the dialog enables the keyspace again; stays the same while the dialog closes after the change. */
  readonly isEnabling: boolean;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Disables a keyspace, after it has explained which keys stop working, or enables it again. */
export function DisableKeyspaceDialog(props: DisableKeyspaceDialogProps): ReactElement {
  const { keyspace, isEnabling, isOpen, onClose } = props;
  const isChanging = useIsMutating({ mutationKey: trpc.keyspaces.update.mutationKey() }) > 0;
  return (
    <Modal
      opened={isOpen}
      {...closeUnlessBusy(isChanging, onClose)}
      title={
        <>
          {isEnabling ? "Enable" : "Disable"} <Quoted>{keyspace.name}</Quoted>?
        </>
      }
      size={480}
    >
      {isEnabling ? <Enabling {...props} /> : <Disabling {...props} />}
    </Modal>
  );
}

function Disabling(props: DisableKeyspaceDialogProps): ReactElement {
  const { workspace, keyspace } = props;
  const { data: impact, error } = useKeyspaceImpact({ workspaceId: workspace.id, keyspaceId: keyspace.id });
  const change = useChange(props, error);
  return (
    <>
      <p className={classes.words}>{describeDisabling(impact)}</p>
      <KeyspaceImpact impact={impact} />
      <ConfirmActions {...change} action="Disable keyspace" />
    </>
  );
}

function Enabling(props: DisableKeyspaceDialogProps): ReactElement {
  const change = useChange(props, null);
  return (
    <>
      <p className={classes.words}>
        Its keys become valid again on the next request, except for those that are disabled, expired or out of
        credits themselves.
      </p>
      <ConfirmActions {...change} action="Enable keyspace" isDangerous={false} />
    </>
  );
}

/** @param previewError why the impact couldn't be loaded. */
function useChange(
  { workspace, keyspace, isEnabling, onClose }: DisableKeyspaceDialogProps,
  previewError: unknown,
): Omit<ConfirmActionsProps, "action"> {
  const queryClient = useQueryClient();
  const update = useMutation(
    trpc.keyspaces.update.mutationOptions({
      onSuccess: async ({ isDisabled }) => {
        await queryClient.invalidateQueries({ queryKey: trpc.keyspaces.pathKey() });
        onClose();
        notifications.show({ message: isDisabled ? "Keyspace disabled." : "Keyspace enabled." });
      },
      // After a conflict, trying again is based on the current version.
      onError: () => queryClient.invalidateQueries({ queryKey: trpc.keyspaces.get.pathKey() }),
    }),
  );
  const error = update.error ?? previewError;
  const failure = error ? describeFailure(error) : undefined;
  return {
    failure:
      failure?.code === "PRECONDITION_FAILED"
        ? { ...failure, message: "Someone changed the keyspace at the same time. Try again." }
        : failure,
    isBusy: update.isPending,
    onCancel: onClose,
    onConfirm: () =>
      update.mutate({
        workspaceId: workspace.id,
        keyspaceId: keyspace.id,
        version: keyspace.version,
        changes: { isDisabled: !isEnabling },
      }),
  };
}
