import { Modal } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { type ReactElement, useState } from "react";
import type { BulkChange } from "./bulk-change.ts";
import { closeUnlessBusy } from "./close-unless-busy.ts";
import { ConfirmActions } from "./confirm-actions.tsx";
import { countOf } from "./count.ts";
import dialogClasses from "./dialog.module.css";
import type { FormFailureProps } from "./form-failure.tsx";

const idle = { done: 0, isBusy: false };

/** The number of concurrent requests. The API processes the changes of one user sequentially. */
const chunkSize = 10;

interface BulkDialogProps {
  /** Undefined while the dialog is closed. */
  readonly change: BulkChange | undefined;
  readonly onClose: () => void;
  /** Called when all items were changed. */
  readonly onDone: () => void;
}

/** Asks before all selected items are changed. */
export function BulkDialog({ change, onClose, onDone }: BulkDialogProps): ReactElement {
  const { run, doneCount, failure, isBusy, reset } = useBulkChange();
  // The selection shrinks while its items are changed, because the list is refetched.
  const [pending, setPending] = useState<BulkChange>();
  if (change && !pending) setPending(change);
  if (!change && pending) setPending(undefined);
  const title = pending && `${pending.verb} ${countOf(pending.runs.length, ...pending.nouns)}`;
  const confirm = async (confirmed: BulkChange) => {
    if (!(await run(confirmed))) return;
    const { runs, nouns, done } = confirmed;
    const [singular, plural] = nouns;
    onClose();
    onDone();
    notifications.show({ message: `${countOf(runs.length, `${singular} was`, `${plural} were`)} ${done}.` });
    // The button that opened the dialog was removed, so the focus moves to the page.
    document.getElementById("content")?.focus();
  };
  return (
    <Modal
      opened={pending !== undefined}
      {...closeUnlessBusy(isBusy, onClose)}
      onExitTransitionEnd={reset}
      title={title && `${title}?`}
      size={480}
    >
      {pending && (
        <>
          <p className={dialogClasses.words}>{pending.consequence}</p>
          <p className={dialogClasses.words}>
            <bdi>{pending.names.slice(0, 3).join(", ")}</bdi>
            {pending.names.length > 3 && ` and ${pending.names.length - 3} more`}.
            {pending.description && ` ${pending.description}`}
          </p>
          {pending.preview}
          {isBusy && (
            <p role="status" className={dialogClasses.words}>
              {doneCount} of {countOf(pending.runs.length, ...pending.nouns)} {pending.done}
            </p>
          )}
          <ConfirmActions
            action={title}
            isDangerous={pending.isDangerous}
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

/**
 * Changes items in chunks. If a change fails, the other items are still changed, and the first failure is shown.
 */
function useBulkChange() {
  const [state, setState] = useState<{ done: number; isBusy: boolean; failure?: FormFailureProps }>(idle);
  const reset = () => setState(idle);
  const run = async ({ runs, describeError, refresh }: BulkChange): Promise<boolean> => {
    setState({ done: 0, isBusy: true });
    const failures: FormFailureProps[] = [];
    for (let start = 0; start < runs.length; start += chunkSize) {
      const chunk = runs.slice(start, start + chunkSize);
      const results = await Promise.allSettled(chunk.map((runOne) => runOne()));
      for (const result of results) {
        const failure = result.status === "rejected" ? describeError(result.reason) : undefined;
        if (failure) failures.push(failure);
      }
      setState({ done: start + chunk.length, isBusy: true });
    }
    await refresh();
    setState({ done: 0, isBusy: false, ...(failures[0] && { failure: failures[0] }) });
    return failures.length === 0;
  };
  return { run, doneCount: state.done, failure: state.failure, isBusy: state.isBusy, reset };
}
