import { Button, Group, Modal } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { type ReactElement, useState } from "react";
import type { BulkChange } from "./bulk-change.ts";
import classes from "./bulk-dialog.module.css";
import { closeUnlessBusy } from "./close-unless-busy.ts";
import { ConfirmActions } from "./confirm-actions.tsx";
import { countOf } from "./count.ts";
import dialogClasses from "./dialog.module.css";
import { FormFailure, type FormFailureProps } from "./form-failure.tsx";

const idle = { done: 0, isBusy: false, failures: [] };

/** The number of concurrent requests. The API processes the changes of one user sequentially. */
const chunkSize = 10;
/** How many names a sentence contains. */
const maxNames = 3;

interface BulkDialogProps {
  /** Undefined while the dialog is closed. */
  readonly change: BulkChange | undefined;
  readonly onClose: () => void;
  /** Called after the change with the positions of the items that failed. */
  readonly onDone: (failed: readonly number[]) => void;
}

/** Asks before all selected items are changed, and then says which of them failed. */
export function BulkDialog({ change, onClose, onDone }: BulkDialogProps): ReactElement {
  const { run, doneCount, failures, isBusy, reset } = useBulkChange();
  // The selection shrinks while its items are changed, because the list is refetched.
  const [pending, setPending] = useState<BulkChange>();
  if (change && !pending) setPending(change);
  if (!change && pending) setPending(undefined);
  const confirm = async (confirmed: BulkChange) => {
    const failed = await run(confirmed);
    if (failed.length > 0) return onDone(failed);
    onClose();
    onDone(failed);
    notifications.show({ message: describeDone(confirmed, confirmed.runs.length) });
    // The button that opened the dialog was removed, so the focus moves to the page.
    document.getElementById("content")?.focus();
  };
  return (
    <Modal
      opened={pending !== undefined}
      {...closeUnlessBusy(isBusy, onClose)}
      onExitTransitionEnd={reset}
      title={
        pending && (failures.length > 0 ? describeFailed(pending, failures.length) : `${pending.title}?`)
      }
      size={480}
    >
      {pending && failures.length > 0 ? (
        <Results change={pending} failures={failures} onClose={onClose} />
      ) : (
        pending && (
          <>
            <p className={dialogClasses.words}>{pending.consequence}</p>
            <p className={dialogClasses.words}>
              <strong>
                <bdi>{listNames(pending.names)}</bdi>
              </strong>
            </p>
            {pending.description && <p className={dialogClasses.words}>{pending.description}</p>}
            {pending.preview}
            {isBusy && (
              <p role="status" className={dialogClasses.words}>
                {doneCount} of {countOf(pending.runs.length, ...pending.nouns)} {pending.done}
              </p>
            )}
            <ConfirmActions
              action={pending.title}
              isDangerous={pending.isDangerous}
              failure={undefined}
              isBusy={isBusy}
              onCancel={onClose}
              onConfirm={() => void confirm(pending)}
            />
          </>
        )
      )}
    </Modal>
  );
}

interface ItemFailure extends FormFailureProps {
  /** The position of the item. */
  readonly index: number;
}

interface ResultsProps {
  readonly change: BulkChange;
  readonly failures: readonly ItemFailure[];
  readonly onClose: () => void;
}

/** Why items failed. The items with the same reason are listed together. */
function Results({ change, failures, onClose }: ResultsProps): ReactElement {
  const doneCount = change.runs.length - failures.length;
  const byReason = Map.groupBy(failures, ({ message }) => message);
  return (
    <>
      <p className={dialogClasses.words}>
        {doneCount > 0 && `${describeDone(change, doneCount)} `}
        {failures.length === 1 ? "This one is still selected:" : "These are still selected:"}
      </p>
      <ul className={classes.failures}>
        {[...byReason].map(([message, items]) => (
          <li key={message}>
            <strong>
              <bdi>{listNames(items.map(({ index }) => change.names[index] ?? ""))}</bdi>
            </strong>
            <FormFailure message={message} requestId={items[0]?.requestId} />
          </li>
        ))}
      </ul>
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Close
        </Button>
      </Group>
    </>
  );
}

function describeDone({ nouns: [singular, plural], done }: BulkChange, count: number): string {
  return `${countOf(count, `${singular} was`, `${plural} were`)} ${done}.`;
}

function describeFailed({ nouns: [singular, plural], done }: BulkChange, count: number): string {
  return `${countOf(count, `${singular} wasn’t`, `${plural} weren’t`)} ${done}`;
}

function listNames(names: readonly string[]): string {
  const others = names.length - maxNames;
  return names.slice(0, maxNames).join(", ") + (others > 0 ? ` and ${others} more` : "");
}

/** Changes items in chunks. If a change fails, the other items are still changed. */
function useBulkChange() {
  const [state, setState] = useState<{ done: number; isBusy: boolean; failures: readonly ItemFailure[] }>(
    idle,
  );
  const reset = () => setState(idle);
  /** Returns the positions of the items that failed. */
  const run = async ({ runs, describeError, refresh }: BulkChange): Promise<readonly number[]> => {
    setState({ ...idle, isBusy: true });
    const failures: ItemFailure[] = [];
    for (let start = 0; start < runs.length; start += chunkSize) {
      const chunk = runs.slice(start, start + chunkSize);
      const results = await Promise.allSettled(chunk.map((runOne) => runOne()));
      for (const [offset, result] of results.entries()) {
        const failure = result.status === "rejected" ? describeError(result.reason) : undefined;
        if (failure) failures.push({ ...failure, index: start + offset });
      }
      setState({ ...idle, done: start + chunk.length - failures.length, isBusy: true });
    }
    await refresh();
    setState({ ...idle, failures });
    return failures.map(({ index }) => index);
  };
  return { run, doneCount: state.done, failures: state.failures, isBusy: state.isBusy, reset };
}
