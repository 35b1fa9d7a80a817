import { Modal, Skeleton } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useIsMutating, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, type ReactNode, useRef } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type Member, trpc, type Workspace } from "../../server/trpc.ts";
import { useConflict } from "../../server/use-conflict.tsx";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { closeUnlessBusy } from "../../ui/close-unless-busy.ts";
import { ConfirmActions, type ConfirmActionsProps } from "../../ui/confirm-actions.tsx";
import { countOf } from "../../ui/count.ts";
import classes from "../../ui/dialog.module.css";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { PolicyPreview } from "./policy-preview.tsx";

interface SecondFactorDialogProps {
  readonly workspace: Workspace;
  /** Whether the dialog requires a second factor rather than ends the requirement; stays the same while the dialog is open. */
  readonly isRequiring: boolean;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/**
 * Requires a second factor from all members, after it has shown who has none and which API keys would stop working; or stops
 * requiring one.
 */
export function SecondFactorDialog(props: SecondFactorDialogProps): ReactElement {
  const { isRequiring, isOpen, onClose } = props;
  const isChanging = useIsMutating({ mutationKey: trpc.workspaces.update.mutationKey() }) > 0;
  return (
    <Modal
      opened={isOpen}
      {...closeUnlessBusy(isChanging, onClose)}
      title={isRequiring ? "Require a second factor?" : "Stop requiring a second factor?"}
      size={480}
    >
      {isRequiring ? <Requiring {...props} /> : <Ending {...props} />}
    </Modal>
  );
}

function Requiring(props: SecondFactorDialogProps): ReactElement {
  const workspaceId = props.workspace.id;
  const cancel = useRef<HTMLButtonElement>(null);
  // What was shown before may no longer be true.
  const fresh = { staleTime: 0, gcTime: 0 };
  const affected = useQuery(trpc.members.withoutSecondFactor.queryOptions({ workspaceId }, fresh));
  const preview = useQuery(
    trpc.workspaceKeys.previewPolicy.queryOptions({ workspaceId, requiresSecondFactor: true }, fresh),
  );
  const failures = [useLoadingFailure(affected), useLoadingFailure(preview)];
  const failure = failures.find((each) => each !== undefined);
  const change = useChange(props);
  const retry = () => {
    // The button is removed when the data arrives.
    cancel.current?.focus();
    for (const query of [affected, preview]) if (query.data === undefined) void query.refetch();
  };
  return (
    <>
      {failure ? (
        <div className={classes.preview}>
          <FailurePanel
            title="Couldn’t check which members and keys are affected"
            message={failure.message}
            requestId={failure.requestId}
            isRetrying={affected.isFetching || preview.isFetching}
            onRetry={retry}
          />
        </div>
      ) : affected.data && preview.data ? (
        <AffectedMembers {...affected.data}>
          <PolicyPreview preview={preview.data} />
        </AffectedMembers>
      ) : (
        <Skeleton h={112} mb={16} />
      )}
      <ConfirmActions
        {...change}
        action="Require second factor"
        cancelRef={cancel}
        // Without both, the user doesn't know whom the change affects.
        isActionDisabled={!affected.data || !preview.data}
      />
    </>
  );
}

function Ending(props: SecondFactorDialogProps): ReactElement {
  const change = useChange(props);
  return (
    <>
      <p className={classes.words}>
        Members can then use this workspace after a sign-in with only their password, and so can their API
        keys.
      </p>
      <ConfirmActions {...change} action="Stop requiring second factor" />
    </>
  );
}

/** Saves only if the requirement is still the one that the user saw. */
function useChange({
  workspace,
  isRequiring,
  onClose,
}: SecondFactorDialogProps): Omit<ConfirmActionsProps, "action"> {
  const queryClient = useQueryClient();
  const workspaceId = workspace.id;
  const query = trpc.workspaces.get.queryOptions({ workspaceId });
  const { base, onError } = useConflict({
    noun: "workspace",
    item: workspace,
    // After a conflict, trying again is based on the current version.
    load: () => queryClient.fetchQuery({ ...query, staleTime: 0 }),
    isSame: (before, after) => before.requiresSecondFactor === after.requiresSecondFactor,
  });
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
      onError,
    }),
  );
  const failure = update.error ? describeFailure(update.error) : undefined;
  return {
    failure:
      failure?.code === "PRECONDITION_FAILED"
        ? { ...failure, message: "Someone changed the workspace at the same time. Try again." }
        : failure,
    isBusy: update.isPending,
    onCancel: onClose,
    onConfirm: () => update.mutate({ workspaceId, requiresSecondFactor: isRequiring, version: base.version }),
  };
}

interface AffectedMembersProps {
  readonly total: number;
  readonly members: readonly Pick<Member, "userId" | "name" | "email">[];
  /** The keys that would stop working. */
  readonly children: ReactNode;
}

function AffectedMembers({ total, members, children }: AffectedMembersProps): ReactElement {
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
      {children}
    </>
  );
}
