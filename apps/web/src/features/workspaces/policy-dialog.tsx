import { Modal } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useRef } from "react";
import { describeFailure } from "../../server/failure.ts";
import { QueryPanel } from "../../server/query-panel.tsx";
import { type ApiKeyPolicy, type PolicyChanges, type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { closeUnlessBusy } from "../../ui/close-unless-busy.ts";
import { ConfirmActions } from "../../ui/confirm-actions.tsx";
import dialogClasses from "../../ui/dialog.module.css";
import { PolicyPreview } from "./policy-preview.tsx";

interface PolicyDialogProps {
  readonly workspace: SessionWorkspace;
  /** The policy that the user edited. */
  readonly policy: ApiKeyPolicy;
  /** The members to change. The dialog is open if they are defined. */
  readonly changes: PolicyChanges | undefined;
  /** Whether the form reports a conflict. The focus then moves to the report when the dialog closes. */
  readonly isConflict: boolean;
  readonly onSaved: (policy: ApiKeyPolicy) => void;
  /** Called if the policy could not be saved. */
  readonly onRejected: (error: unknown) => Promise<void>;
  readonly onClose: () => void;
}

/** Shows which keys would stop working under a policy before it is saved. */
export function PolicyDialog(props: PolicyDialogProps): ReactElement {
  const { workspace, policy, changes, isConflict, onSaved, onRejected, onClose } = props;
  const queryClient = useQueryClient();
  const workspaceId = workspace.id;
  const cancel = useRef<HTMLButtonElement>(null);
  const preview = useQuery({
    ...trpc.workspaceKeys.previewPolicy.queryOptions({ workspaceId, ...changes }),
    enabled: changes !== undefined,
    staleTime: 0,
    // What a former preview showed may no longer be true.
    gcTime: 0,
  });
  const save = useMutation(
    trpc.workspaceKeys.changePolicy.mutationOptions({
      onSuccess: (saved) => {
        onClose();
        queryClient.setQueryData(trpc.workspaceKeys.policy.queryKey({ workspaceId }), saved);
        onSaved(saved);
        void queryClient.invalidateQueries({ queryKey: trpc.workspaceKeys.list.pathKey() });
        notifications.show({ message: "API key policy saved." });
      },
      onError: onRejected,
    }),
  );
  return (
    <Modal
      opened={changes !== undefined}
      {...closeUnlessBusy(save.isPending, onClose)}
      onExitTransitionEnd={() => save.reset()}
      returnFocus={!isConflict}
      title="Save the API key policy?"
      size={560}
    >
      {changes && (
        <>
          <div className={dialogClasses.preview}>
            <QueryPanel
              query={preview}
              failureTitle="Couldn’t check which keys would stop working"
              height={72}
              onRetry={() => cancel.current?.focus()}
            >
              {(keys) => <PolicyPreview preview={keys} />}
            </QueryPanel>
          </div>
          <ConfirmActions
            action="Save policy"
            cancelRef={cancel}
            isDangerous={(preview.data?.total ?? 0) > 0}
            failure={save.error ? describeFailure(save.error) : undefined}
            isBusy={save.isPending}
            // Without a preview, the user doesn't know which keys would stop working.
            isActionDisabled={preview.data === undefined}
            onCancel={onClose}
            onConfirm={() => save.mutate({ workspaceId, ...changes, version: policy.version })}
          />
        </>
      )}
    </Modal>
  );
}
