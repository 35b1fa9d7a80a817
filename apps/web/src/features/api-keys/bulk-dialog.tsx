import { Modal } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type ListedApiKey, trpc, trpcClient } from "../../server/trpc.ts";
import { closeUnlessBusy } from "../../ui/close-unless-busy.ts";
import { ConfirmActions } from "../../ui/confirm-actions.tsx";
import { countOf } from "../../ui/count.ts";
import dialogClasses from "../../ui/dialog.module.css";

export type BulkAction = "disable" | "delete";

const actions = {
  disable: {
    verb: "Disable",
    done: "disabled",
    consequence:
      "Scripts and services that use the selected keys are rejected from their next request until you enable the keys again.",
    run: (id: string) => trpcClient.apiKeys.update.mutate({ id, settings: { isDisabled: true } }),
  },
  delete: {
    verb: "Delete",
    done: "deleted",
    consequence:
      "Scripts and services that use the selected keys are rejected from their next request. This can’t be undone.",
    run: (id: string) => trpcClient.apiKeys.delete.mutate({ id }),
  },
} as const satisfies Record<BulkAction, object>;

/** The number of concurrent requests. The API processes the changes of one user sequentially. */
const chunkSize = 10;

interface BulkDialogProps {
  /** Undefined while the dialog is closed. */
  readonly action: BulkAction | undefined;
  readonly apiKeys: readonly ListedApiKey[];
  readonly onClose: () => void;
  /** Called when all keys were changed. */
  readonly onDone: () => void;
}

/** Asks before all selected keys are changed. */
export function BulkDialog({ action, ...props }: BulkDialogProps): ReactElement | null {
  return action ? <OpenBulkDialog {...props} action={action} /> : null;
}

function OpenBulkDialog({
  action,
  apiKeys: selected,
  onClose,
  onDone,
}: BulkDialogProps & { readonly action: BulkAction }): ReactElement {
  // The selection shrinks while its keys are deleted, because the list is refetched.
  const [apiKeys] = useState(selected);
  const { verb, done, consequence } = actions[action];
  const { run, doneCount, failure, isBusy } = useBulkChange(action);
  const keys = countOf(apiKeys.length, "key", "keys");
  const [first, second, third] = apiKeys;
  const usedCount = apiKeys.filter(({ lastUsedAt }) => lastUsedAt !== null).length;
  const confirm = async () => {
    if (!(await run(apiKeys))) return;
    onClose();
    onDone();
    notifications.show({ message: `${countOf(apiKeys.length, "key was", "keys were")} ${done}.` });
    // The button that opened the dialog was removed, so the focus moves to the page.
    document.getElementById("content")?.focus();
  };
  return (
    <Modal opened {...closeUnlessBusy(isBusy, onClose)} title={`${verb} ${keys}?`} size={480}>
      <p className={dialogClasses.words}>{consequence}</p>
      <p className={dialogClasses.words}>
        <bdi>{[first, second, third].flatMap((key) => key?.name ?? []).join(", ")}</bdi>
        {apiKeys.length > 3 && ` and ${apiKeys.length - 3} more`}. {describeUse(usedCount, apiKeys.length)}
      </p>
      {isBusy && (
        <p role="status" className={dialogClasses.words}>
          {doneCount} of {keys} {done}
        </p>
      )}
      <ConfirmActions
        action={`${verb} ${keys}`}
        failure={failure}
        isBusy={isBusy}
        onCancel={onClose}
        onConfirm={() => void confirm()}
      />
    </Modal>
  );
}

function describeUse(usedCount: number, total: number): string {
  if (total === 1) return usedCount === 0 ? "It has never been used." : "It has been used.";
  return usedCount === 0
    ? "None of them has ever been used."
    : `${usedCount} of them ${usedCount === 1 ? "has" : "have"} been used.`;
}

/**
 * Changes keys in chunks. If a change fails, the other keys are still changed, and the first
 * failure is shown.
 */
function useBulkChange(action: BulkAction) {
  const queryClient = useQueryClient();
  const [state, setState] = useState<{ done: number; isBusy: boolean; error?: unknown }>({
    done: 0,
    isBusy: false,
  });
  const run = async (apiKeys: readonly ListedApiKey[]): Promise<boolean> => {
    setState({ done: 0, isBusy: true });
    const errors: unknown[] = [];
    for (let start = 0; start < apiKeys.length; start += chunkSize) {
      const chunk = apiKeys.slice(start, start + chunkSize);
      const results = await Promise.allSettled(chunk.map(({ id }) => actions[action].run(id)));
      // A key that was already deleted needs no change.
      errors.push(
        ...results.flatMap((result) =>
          result.status === "rejected" && describeFailure(result.reason).code !== "NOT_FOUND"
            ? [result.reason]
            : [],
        ),
      );
      setState({ done: start + chunk.length, isBusy: true });
    }
    await queryClient.invalidateQueries({ queryKey: trpc.apiKeys.pathKey() });
    setState({ done: 0, isBusy: false, ...(errors.length > 0 && { error: errors[0] }) });
    return errors.length === 0;
  };
  const failure = state.error === undefined ? undefined : describeFailure(state.error);
  return { run, doneCount: state.done, failure, isBusy: state.isBusy };
}
