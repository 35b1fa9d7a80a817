import { Modal } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type SessionWorkspace, trpc, type WorkspaceKey } from "../../server/trpc.ts";
import { closeUnlessBusy } from "../../ui/close-unless-busy.ts";
import { ConfirmActions } from "../../ui/confirm-actions.tsx";
import { countOf } from "../../ui/count.ts";
import dialogClasses from "../../ui/dialog.module.css";
import { LastUseHour } from "../../ui/last-use-hour.tsx";
import { nameOwner } from "../../ui/owner-name.tsx";
import { Quoted } from "../../ui/quoted.tsx";
import { watchPage } from "../../ui/watch-page.ts";
import type { BlockRequest } from "./block-request.ts";

const actions = {
  block: { verb: "Block", done: "blocked" },
  unblock: { verb: "Unblock", done: "unblocked" },
} as const;

interface BlockDialogProps {
  readonly workspace: SessionWorkspace;
  /** Undefined while the dialog is closed. */
  readonly request: BlockRequest | undefined;
  readonly onClose: () => void;
  /** Called when the keys were changed. */
  readonly onDone: () => void;
}

/** Asks before keys are blocked from the workspace, or unblocked. */
export function BlockDialog({ workspace, request, onClose, onDone }: BlockDialogProps): ReactElement {
  const queryClient = useQueryClient();
  const { action = "block", apiKeys = [] } = request ?? {};
  const finish = {
    onMutate: watchPage,
    onSuccess: async (_data: unknown, _input: unknown, isPageOpen: () => boolean) => {
      await queryClient.invalidateQueries({ queryKey: trpc.workspaceKeys.pathKey() });
      onClose();
      const keys = countOf(apiKeys.length, "key was", "keys were");
      notifications.show({ message: `${keys} ${actions[action].done}.` });
      // Changing the selection navigates, which would return the user to the list that they have left.
      if (!isPageOpen()) return;
      onDone();
      // The button that opened the dialog was removed or renamed, so the focus moves to the page.
      document.getElementById("content")?.focus();
    },
    onError: () => queryClient.invalidateQueries({ queryKey: trpc.workspaceKeys.pathKey() }),
  };
  const changes = {
    block: useMutation(trpc.workspaceKeys.block.mutationOptions(finish)),
    unblock: useMutation(trpc.workspaceKeys.unblock.mutationOptions(finish)),
  };
  const change = changes[action];
  const label = `${actions[action].verb} ${apiKeys.length === 1 ? "key" : countOf(apiKeys.length, "key", "keys")}`;
  const [only] = apiKeys;
  return (
    <Modal
      opened={request !== undefined}
      {...closeUnlessBusy(change.isPending, onClose)}
      onExitTransitionEnd={() => {
        // The closed dialog has no request, and so doesn't know which of the two it made.
        changes.block.reset();
        changes.unblock.reset();
      }}
      title={
        only && apiKeys.length === 1 ? (
          <>
            {actions[action].verb} <Quoted>{only.name}</Quoted>?
          </>
        ) : (
          `${label}?`
        )
      }
      size={480}
    >
      {request && (
        <>
          <p className={dialogClasses.words}>
            {action === "block" ? (
              <>
                <Quoted>{workspace.name}</Quoted> immediately rejects{" "}
                {apiKeys.length === 1 ? "this key" : "these keys"} until an owner or admin unblocks{" "}
                {apiKeys.length === 1 ? "it" : "them"}. Other workspaces are not affected. The{" "}
                {apiKeys.length === 1 ? "owner sees that you blocked it" : "owners see that you blocked them"}
                .
              </>
            ) : (
              <>
                <Quoted>{workspace.name}</Quoted> accepts {apiKeys.length === 1 ? "this key" : "these keys"}{" "}
                again immediately, and idle time starts over. The workspace’s policy still applies.
              </>
            )}
          </p>
          <Affected apiKeys={apiKeys} />
          <ConfirmActions
            action={label}
            isDangerous={action === "block"}
            failure={change.error ? describeFailure(change.error) : undefined}
            isBusy={change.isPending}
            onCancel={onClose}
            onConfirm={() =>
              change.mutate({ workspaceId: workspace.id, keyIds: apiKeys.map(({ id }) => id) })
            }
          />
        </>
      )}
    </Modal>
  );
}

/** Whose keys are affected, and when the last one was used here. */
function Affected({ apiKeys }: { readonly apiKeys: readonly WorkspaceKey[] }): ReactElement {
  const owners = [...new Set(apiKeys.map(({ owner }) => nameOwner(owner)))];
  const [lastUsedAt] = apiKeys
    .flatMap((key) => key.lastUsedAt ?? [])
    .sort()
    .reverse();
  return (
    <dl className={dialogClasses.facts}>
      <dt>{owners.length === 1 ? "Owner" : "Owners"}</dt>
      <dd>
        <bdi>{owners.slice(0, 3).join(", ")}</bdi>
        {owners.length > 3 && ` and ${owners.length - 3} more`}
      </dd>
      <dt>Last used here</dt>
      <dd>{lastUsedAt === undefined ? "Not recently" : <LastUseHour startsAt={lastUsedAt} isFirst />}</dd>
    </dl>
  );
}
