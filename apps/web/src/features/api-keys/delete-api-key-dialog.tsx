import { Modal } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type ApiKey, trpc } from "../../server/trpc.ts";
import { closeUnlessBusy } from "../../ui/close-unless-busy.ts";
import { ConfirmAnswer } from "../../ui/confirm-answer.tsx";
import classes from "../../ui/dialog.module.css";
import { Quoted } from "../../ui/quoted.tsx";
import { LastUse } from "./last-use.tsx";

interface DeleteApiKeyDialogProps {
  /** The key to delete; the dialog is open while there is one. */
  readonly apiKey: ApiKey | undefined;
  readonly onClose: () => void;
  /** Hears that it is gone, after `onClose`. */
  readonly onGone?: () => void;
}

export function DeleteApiKeyDialog({ apiKey, onClose, onGone }: DeleteApiKeyDialogProps): ReactElement {
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
      {apiKey && <Confirmation apiKey={apiKey} onClose={onClose} onGone={onGone} />}
    </Modal>
  );
}

interface ConfirmationProps {
  readonly apiKey: ApiKey;
  readonly onClose: () => void;
  readonly onGone: (() => void) | undefined;
}

function Confirmation({ apiKey, onClose, onGone }: ConfirmationProps): ReactElement {
  const remove = useDelete(apiKey, () => {
    onClose();
    // The button that opened the dialog is gone with its row.
    document.getElementById("content")?.focus();
    onGone?.();
  });
  return (
    <>
      <p className={classes.words}>
        Scripts and services that use this key are rejected from their next request. Your other keys and your
        session are not affected. This can’t be undone.
      </p>
      <LastUse apiKey={apiKey} />
      <ConfirmAnswer
        action="Delete"
        failure={remove.error ? describeFailure(remove.error) : undefined}
        isBusy={remove.isPending}
        onCancel={onClose}
        onConfirm={() => remove.mutate({ id: apiKey.id })}
      />
    </>
  );
}

/** Deletes a key; only what the API has confirmed to be gone leaves the list. */
function useDelete(apiKey: ApiKey, onGone: () => void) {
  const queryClient = useQueryClient();
  const forget = (words: string) => {
    queryClient.setQueriesData<{ items: ApiKey[]; total: number }>(
      { queryKey: trpc.apiKeys.list.pathKey() },
      (list) => list && withoutKey(list, apiKey.id),
    );
    void queryClient.invalidateQueries({ queryKey: trpc.apiKeys.list.pathKey() });
    void queryClient.invalidateQueries({ queryKey: trpc.apiKeys.summary.pathKey() });
    onGone();
    notifications.show({
      message: (
        <>
          <Quoted>{apiKey.name}</Quoted> {words}
        </>
      ),
    });
  };
  return useMutation(
    trpc.apiKeys.delete.mutationOptions({
      onSuccess: () => forget("was deleted. Its next request is rejected."),
      onError: (error) => {
        if (describeFailure(error).code === "NOT_FOUND") forget("was already deleted.");
      },
    }),
  );
}

function withoutKey(list: { items: ApiKey[]; total: number }, id: string) {
  const items = list.items.filter((item) => item.id !== id);
  return { ...list, items, total: list.total - (list.items.length - items.length) };
}
