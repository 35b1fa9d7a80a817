import { Button, Group, Modal } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type ApiKey, trpc } from "../../server/trpc.ts";
import { countOf } from "../../ui/count.ts";
import { describeElapsed, describeExactly } from "../../ui/elapsed.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import { useNow } from "../../ui/use-now.ts";
import classes from "./dialog.module.css";

interface DeleteApiKeyDialogProps {
  /** The key to delete; the dialog is open while there is one. */
  readonly apiKey: ApiKey | undefined;
  readonly onClose: () => void;
}

export function DeleteApiKeyDialog({ apiKey, onClose }: DeleteApiKeyDialogProps): ReactElement {
  return (
    <Modal
      opened={apiKey !== undefined}
      onClose={onClose}
      title={apiKey && `Delete “${apiKey.name}”?`}
      size={480}
    >
      {apiKey && <Confirmation apiKey={apiKey} onClose={onClose} />}
    </Modal>
  );
}

interface ConfirmationProps {
  readonly apiKey: ApiKey;
  readonly onClose: () => void;
}

function Confirmation({ apiKey, onClose }: ConfirmationProps): ReactElement {
  const remove = useDelete(apiKey, () => {
    onClose();
    // The button that opened the dialog is gone with its row.
    document.getElementById("content")?.focus();
  });
  const failure = remove.error ? describeFailure(remove.error) : undefined;
  return (
    <>
      <p className={classes.words}>
        Every script and service that uses this key stops working at its next request: it is refused with 403.
        Your other keys and your own sign-in go on. A deleted key can’t be brought back.
      </p>
      <Facts apiKey={apiKey} />
      {failure && (
        <div className={classes.failure}>
          <FormFailure message={failure.message} requestId={failure.requestId} />
        </div>
      )}
      <Group justify="flex-end" gap={8}>
        <Button variant="default" onClick={onClose} data-autofocus>
          Cancel
        </Button>
        <Button
          className={classes.danger}
          loading={remove.isPending}
          onClick={() => remove.mutate({ id: apiKey.id })}
        >
          Delete
        </Button>
      </Group>
    </>
  );
}

function Facts({ apiKey }: { readonly apiKey: ApiKey }): ReactElement {
  const now = useNow();
  const lastUsedAt = apiKey.lastUsedAt === null ? undefined : new Date(apiKey.lastUsedAt);
  return (
    <dl className={classes.facts}>
      <dt>Key</dt>
      <dd>
        <code>{apiKey.start}…</code>
      </dd>
      <dt>Last used</dt>
      <dd>
        {lastUsedAt
          ? `${describeElapsed(lastUsedAt, now)} (${describeExactly(lastUsedAt)})`
          : "never, so nothing known depends on it"}
      </dd>
      <dt>Used</dt>
      <dd>{countOf(apiKey.usageCount, "time", "times")}</dd>
    </dl>
  );
}

/** Deletes a key; only what the API has confirmed leaves the list. */
function useDelete(apiKey: ApiKey, onDeleted: () => void) {
  const queryClient = useQueryClient();
  return useMutation(
    trpc.apiKeys.delete.mutationOptions({
      onSuccess: () => {
        queryClient.setQueriesData<{ items: ApiKey[]; total: number }>(
          { queryKey: trpc.apiKeys.list.pathKey() },
          (list) => list && withoutKey(list, apiKey.id),
        );
        void queryClient.invalidateQueries({ queryKey: trpc.apiKeys.pathKey() });
        onDeleted();
        notifications.show({ message: `“${apiKey.name}” is deleted. It is refused from now on.` });
      },
    }),
  );
}

function withoutKey(list: { items: ApiKey[]; total: number }, id: string) {
  const items = list.items.filter((item) => item.id !== id);
  return { ...list, items, total: list.total - (list.items.length - items.length) };
}
