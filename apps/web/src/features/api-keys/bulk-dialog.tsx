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

export type BulkAction = "disable" | "enable" | "delete";

const actions = {
  disable: {
    verb: "Disable",
    done: "disabled",
    consequence: "Requests with the selected keys are rejected immediately, until you enable the keys again.",
    run: (id: string) => trpcClient.apiKeys.update.mutate({ id, settings: { isDisabled: true } }),
  },
  enable: {
    verb: "Enable",
    done: "enabled",
    consequence: "The keys are accepted again from their next request on, with the same restrictions.",
    // The dialog has asked for confirmation. Without `mayWiden`, the API rejects a change that expands access.
    run: (id: string) =>
      trpcClient.apiKeys.update.mutate({ id, settings: { isDisabled: false }, mayWiden: true }),
  },
  delete: {
    verb: "Delete",
    done: "deleted",
    consequence: "Requests with the selected keys are rejected immediately. This can’t be undone.",
    run: (id: string) => trpcClient.apiKeys.delete.mutate({ id }),
  },
} as const satisfies Record<BulkAction, object>;

const idle = { done: 0, isBusy: false };

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
export function BulkDialog({ action, apiKeys, onClose, onDone }: BulkDialogProps): ReactElement {
  const { run, doneCount, failure, isBusy, reset } = useBulkChange();
  // The selection shrinks while its keys are changed, because the list is refetched.
  const [pending, setPending] = useState<PendingChange>();
  if (action && !pending) setPending({ action, apiKeys });
  if (!action && pending) setPending(undefined);
  const { verb, done } = actions[pending?.action ?? "disable"];
  const keys = countOf(pending?.apiKeys.length ?? 0, "key", "keys");
  const confirm = async ({ action: confirmed, apiKeys: selected }: PendingChange) => {
    if (!(await run(confirmed, selected))) return;
    onClose();
    onDone();
    notifications.show({ message: `${countOf(selected.length, "key was", "keys were")} ${done}.` });
    // The button that opened the dialog was removed, so the focus moves to the page.
    document.getElementById("content")?.focus();
  };
  return (
    <Modal
      opened={pending !== undefined}
      {...closeUnlessBusy(isBusy, onClose)}
      onExitTransitionEnd={reset}
      title={`${verb} ${keys}?`}
      size={480}
    >
      {pending && (
        <>
          <Consequence {...pending} />
          {isBusy && (
            <p role="status" className={dialogClasses.words}>
              {doneCount} of {keys} {done}
            </p>
          )}
          <ConfirmActions
            action={`${verb} ${keys}`}
            isDangerous={pending.action !== "enable"}
            failure={failure}
            isBusy={isBusy}
            onCancel={onClose}
            onConfirm={() => void confirm(pending)}
          />
        </>
      )}
    </Modal>
  );
}

interface PendingChange {
  readonly action: BulkAction;
  readonly apiKeys: readonly ListedApiKey[];
}

function Consequence({ action, apiKeys }: PendingChange): ReactElement {
  const usedCount = apiKeys.filter(({ lastUsedAt }) => lastUsedAt !== null).length;
  return (
    <>
      <p className={dialogClasses.words}>{actions[action].consequence}</p>
      <p className={dialogClasses.words}>
        <bdi>
          {apiKeys
            .slice(0, 3)
            .map(({ name }) => name)
            .join(", ")}
        </bdi>
        {apiKeys.length > 3 && ` and ${apiKeys.length - 3} more`}. {describeUse(usedCount, apiKeys.length)}
      </p>
    </>
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
function useBulkChange() {
  const queryClient = useQueryClient();
  const [state, setState] = useState<{ done: number; isBusy: boolean; error?: unknown }>(idle);
  const reset = () => setState(idle);
  const run = async (action: BulkAction, apiKeys: readonly ListedApiKey[]): Promise<boolean> => {
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
  return { run, doneCount: state.done, failure, isBusy: state.isBusy, reset };
}
