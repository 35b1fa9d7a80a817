import { Modal } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useIsMutating, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactElement, ReactNode } from "react";
import { describeFailure } from "../../server/failure.ts";
import { trpc, trpcClient, type WorkspaceOverview } from "../../server/trpc.ts";
import { closeUnlessBusy } from "../../ui/close-unless-busy.ts";
import { ConfirmActions } from "../../ui/confirm-actions.tsx";
import { formatCount } from "../../ui/count.ts";
import classes from "../../ui/dialog.module.css";
import { Quoted } from "../../ui/quoted.tsx";

interface WorkspaceDialogProps {
  /** The workspace to disable or, if it is disabled, to enable. The dialog is open if it is defined. */
  readonly workspace: WorkspaceOverview | undefined;
  readonly onClose: () => void;
}

interface Wording {
  readonly title: (name: ReactNode) => ReactNode;
  readonly effect: string;
  readonly button: string;
  readonly done: (name: string) => string;
  readonly isDangerous: boolean;
}

const wordings: Readonly<Record<"disable" | "enable", Wording>> = {
  disable: {
    title: (name) => <>Disable {name}?</>,
    effect:
      "From the next request, its issued keys are rejected, API keys can’t reach it, its members can neither read nor change anything in it, and its webhooks stop. Nothing is deleted, and you can enable it again.",
    button: "Disable workspace",
    done: (name) => `“${name}” is disabled.`,
    isDangerous: true,
  },
  enable: {
    title: (name) => <>Enable {name}?</>,
    effect:
      "From the next request, its members can use it again, its API keys and issued keys work again, and its webhooks get new events.",
    button: "Enable workspace",
    done: (name) => `“${name}” is enabled.`,
    isDangerous: false,
  },
};

function wordingFor({ isDisabled }: WorkspaceOverview): Wording {
  return wordings[isDisabled ? "enable" : "disable"];
}

const mutationKey = ["operator", "workspace"];

/** Says what stops or starts to work before a workspace is disabled or enabled. */
export function WorkspaceDialog({ workspace, onClose }: WorkspaceDialogProps): ReactElement {
  const isBusy = useIsMutating({ mutationKey }) > 0;
  return (
    <Modal
      opened={workspace !== undefined}
      {...closeUnlessBusy(isBusy, onClose)}
      title={workspace && wordingFor(workspace).title(<Quoted>{workspace.name}</Quoted>)}
      size={520}
    >
      {workspace && <Confirmation workspace={workspace} onClose={onClose} />}
    </Modal>
  );
}

function Confirmation({
  workspace,
  onClose,
}: {
  readonly workspace: WorkspaceOverview;
  readonly onClose: () => void;
}): ReactElement {
  const { id, name, isDisabled } = workspace;
  const { effect, button, done, isDangerous } = wordingFor(workspace);
  const queryClient = useQueryClient();
  const reach = useQuery(trpc.operator.workspaceReach.queryOptions({ id }));
  const change = useMutation({
    mutationKey,
    mutationFn: () => {
      const { enableWorkspace, disableWorkspace } = trpcClient.operator;
      return (isDisabled ? enableWorkspace : disableWorkspace).mutate({ id });
    },
    onSuccess: async () => {
      await Promise.all([
        queryClient.invalidateQueries({ queryKey: trpc.operator.pathKey() }),
        // The operator can be a member of the workspace.
        queryClient.invalidateQueries({ queryKey: trpc.session.current.queryKey() }),
      ]);
      onClose();
      notifications.show({ message: done(name) });
    },
  });
  const failure = change.error ?? reach.error;
  const count = (value: number | undefined) => (value === undefined ? "…" : formatCount(value));
  return (
    <>
      <p className={classes.words}>{effect}</p>
      <dl className={classes.facts} aria-busy={reach.isPending}>
        <dt>Members</dt>
        <dd>{count(reach.data?.memberCount)}</dd>
        <dt>Service accounts</dt>
        <dd>{count(reach.data?.serviceAccountCount)}</dd>
        <dt>API keys</dt>
        <dd>{count(reach.data?.apiKeyCount)}</dd>
        <dt>Issued keys</dt>
        <dd>{count(reach.data?.issuedKeyCount)}</dd>
      </dl>
      <ConfirmActions
        action={button}
        failure={failure ? describeFailure(failure) : undefined}
        isBusy={change.isPending}
        isDangerous={isDangerous}
        onCancel={onClose}
        onConfirm={() => change.mutate()}
      />
    </>
  );
}
