import { Modal } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type ApiKey, trpc } from "../../server/trpc.ts";
import { closeUnlessBusy } from "../../ui/close-unless-busy.ts";
import { ConfirmActions } from "../../ui/confirm-actions.tsx";
import classes from "../../ui/dialog.module.css";
import { Quoted } from "../../ui/quoted.tsx";
import { watchPage } from "../../ui/watch-page.ts";
import { LastUse } from "./last-use.tsx";

interface DeleteApiKeyDialogProps {
  /** The key to delete. The dialog is open if it is defined. */
  readonly apiKey: ApiKey | undefined;
  readonly onClose: () => void;
  /** Called after `onClose` when the key was deleted, unless the user has opened another page. */
  readonly onDeleted?: () => void;
}

export function DeleteApiKeyDialog({ apiKey, onClose, onDeleted }: DeleteApiKeyDialogProps): ReactElement {
  const isDeleting = useIsMutating({ mutationKey: trpc.apiKeys.delete.mutationKey() }) > 0;
  return (
    <Modal
      opened={apiKey !== undefined}
      {...closeUnlessBusy(isDeleting, onClose)}
      title={
        apiKey && (
          <>
            Delete <Quoted>{apiKey.name}</Quoted>?
          </>
        )
      }
      size={480}
    >
      {apiKey && <Confirmation apiKey={apiKey} onClose={onClose} onDeleted={onDeleted} />}
    </Modal>
  );
}

interface ConfirmationProps {
  readonly apiKey: ApiKey;
  readonly onClose: () => void;
  readonly onDeleted: (() => void) | undefined;
}

function Confirmation({ apiKey, onClose, onDeleted }: ConfirmationProps): ReactElement {
  const remove = useDelete(apiKey, (isPageOpen) => {
    onClose();
    if (!isPageOpen()) return;
    // The button that opened the dialog was removed with its row, so the focus moves to the page.
    document.getElementById("content")?.focus();
    onDeleted?.();
  });
  return (
    <>
      <p className={classes.words}>
        Requests with this key are rejected immediately.{" "}
        {apiKey.serviceAccount
          ? "The other keys of the service account are not affected."
          : "Your other keys and your session are not affected."}{" "}
        This can’t be undone.
      </p>
      <LastUse apiKey={apiKey} />
      <ConfirmActions
        action="Delete key"
        failure={remove.error ? describeFailure(remove.error) : undefined}
        isBusy={remove.isPending}
        onCancel={onClose}
        onConfirm={() => remove.mutate({ id: apiKey.id })}
      />
    </>
  );
}

/** Deletes a key. It is removed from the list only after the API confirms that it is deleted. */
function useDelete(apiKey: ApiKey, onDeleted: (isPageOpen: () => boolean) => void) {
  const queryClient = useQueryClient();
  const removeFromList = (outcome: string, isPageOpen: () => boolean) => {
    queryClient.setQueriesData<{ items: ApiKey[]; total: number }>(
      { queryKey: trpc.apiKeys.list.pathKey() },
      (list) => list && withoutKey(list, apiKey.id),
    );
    void queryClient.invalidateQueries({ queryKey: trpc.apiKeys.list.pathKey() });
    void queryClient.invalidateQueries({ queryKey: trpc.apiKeys.summary.pathKey() });
    void queryClient.invalidateQueries({ queryKey: trpc.serviceAccounts.keys.pathKey() });
    onDeleted(isPageOpen);
    notifications.show({
      message: (
        <>
          <Quoted>{apiKey.name}</Quoted> {outcome}
        </>
      ),
    });
  };
  return useMutation(
    trpc.apiKeys.delete.mutationOptions({
      onMutate: watchPage,
      onSuccess: (_data, _input, isPageOpen) =>
        removeFromList("was deleted. Its next request is rejected.", isPageOpen),
      onError: (error, _input, isPageOpen) => {
        if (describeFailure(error).code === "NOT_FOUND" && isPageOpen)
          removeFromList("was already deleted.", isPageOpen);
      },
    }),
  );
}

function withoutKey(list: { items: ApiKey[]; total: number }, id: string) {
  const items = list.items.filter((item) => item.id !== id);
  return { ...list, items, total: list.total - (list.items.length - items.length) };
}
