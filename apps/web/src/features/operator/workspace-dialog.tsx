import { Skeleton } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { trpc, trpcClient, type WorkspaceOverview } from "../../server/trpc.ts";
import { useSessionChanges } from "../../server/use-session-changes.ts";
import { formatCount } from "../../ui/count.ts";
import { ActionConfirmation, ActionDialog, type ActionWording } from "./action-dialog.tsx";

interface WorkspaceDialogProps {
  /** The workspace to disable or, if it is disabled, to enable. The dialog is open if it is defined. */
  readonly workspace: WorkspaceOverview | undefined;
  readonly onClose: () => void;
}

const wordings: Readonly<Record<"disable" | "enable", ActionWording>> = {
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

function wordingFor({ isDisabled }: WorkspaceOverview): ActionWording {
  return wordings[isDisabled ? "enable" : "disable"];
}

const mutationKey = ["operator", "workspace"];

/** Says what stops or starts to work before a workspace is disabled or enabled. */
export function WorkspaceDialog({ workspace, onClose }: WorkspaceDialogProps): ReactElement {
  return (
    <ActionDialog
      wording={workspace && wordingFor(workspace)}
      name={workspace?.name}
      mutationKey={mutationKey}
      onClose={onClose}
    >
      {workspace && <Confirmation workspace={workspace} onClose={onClose} />}
    </ActionDialog>
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
  const wording = wordingFor(workspace);
  const queryClient = useQueryClient();
  const sessionChanges = useSessionChanges();
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
        sessionChanges.update(id, { isDisabled: !isDisabled }),
      ]);
      onClose();
      notifications.show({ message: wording.done(name) });
    },
  });
  const count = (value: number | undefined) =>
    value === undefined ? <Skeleton h={20} w={40} /> : formatCount(value);
  return (
    <ActionConfirmation
      wording={wording}
      error={change.error ?? reach.error}
      isBusy={change.isPending}
      isLoading={reach.isPending}
      note="The numbers include disabled members, and disabled, expired and blocked keys."
      onCancel={onClose}
      onConfirm={() => change.mutate()}
    >
      <dt>People</dt>
      <dd>{count(reach.data?.memberCount)}</dd>
      <dt>Service accounts</dt>
      <dd>{count(reach.data?.serviceAccountCount)}</dd>
      <dt>API keys</dt>
      <dd>{count(reach.data?.apiKeyCount)}</dd>
      <dt>Issued keys</dt>
      <dd>{count(reach.data?.issuedKeyCount)}</dd>
    </ActionConfirmation>
  );
}
