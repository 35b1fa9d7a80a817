import { Modal, Skeleton } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type ApiKeyPolicy, type PolicyChanges, type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { closeUnlessBusy } from "../../ui/close-unless-busy.ts";
import { ConfirmActions } from "../../ui/confirm-actions.tsx";
import { PolicyPreview } from "./policy-preview.tsx";

interface PolicyDialogProps {
  readonly workspace: SessionWorkspace;
  /** The policy that the user edited. */
  readonly policy: ApiKeyPolicy;
  /** The members to change. The dialog is open if they are defined. */
  readonly changes: PolicyChanges | undefined;
  /** Called with the version of the saved policy. */
  readonly onSaved: (version: number) => void;
  readonly onClose: () => void;
}

/** Shows which keys would stop working under a policy before it is saved. */
export function PolicyDialog(props: PolicyDialogProps): ReactElement {
  const { workspace, policy, changes, onSaved, onClose } = props;
  const queryClient = useQueryClient();
  const workspaceId = workspace.id;
  const preview = useQuery({
    ...trpc.workspaceKeys.previewPolicy.queryOptions({ workspaceId, ...changes }),
    enabled: changes !== undefined,
    staleTime: 0,
  });
  const save = useMutation(
    trpc.workspaceKeys.changePolicy.mutationOptions({
      onSuccess: (saved) => {
        onClose();
        onSaved(saved.version);
        queryClient.setQueryData(trpc.workspaceKeys.policy.queryKey({ workspaceId }), saved);
        void queryClient.invalidateQueries({ queryKey: trpc.workspaceKeys.list.pathKey() });
        notifications.show({ message: "API key policy saved." });
      },
    }),
  );
  const error = save.error ?? preview.error;
  const failure = error ? describeFailure(error) : undefined;
  const isOutdated = failure?.code === "PRECONDITION_FAILED";
  const close = () => {
    onClose();
    // Shows what someone else saved.
    if (isOutdated) void queryClient.invalidateQueries({ queryKey: trpc.workspaceKeys.policy.pathKey() });
  };
  return (
    <Modal
      opened={changes !== undefined}
      {...closeUnlessBusy(save.isPending, close)}
      onExitTransitionEnd={() => save.reset()}
      title="Save the API key policy?"
      size={560}
    >
      {changes && (
        <>
          {preview.data ? <PolicyPreview preview={preview.data} /> : !failure && <Skeleton h={72} mb={16} />}
          <ConfirmActions
            action="Save policy"
            isDangerous={(preview.data?.total ?? 0) > 0}
            failure={
              isOutdated
                ? {
                    message:
                      "Someone else changed the policy while you were editing it. Cancel to see the current policy.",
                  }
                : failure
            }
            isBusy={save.isPending || preview.isLoading}
            onCancel={close}
            onConfirm={() => save.mutate({ workspaceId, ...changes, version: policy.version })}
          />
        </>
      )}
    </Modal>
  );
}
