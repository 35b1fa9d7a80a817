import { Button, Group } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { type ReactElement, useState } from "react";
import type { BulkChange } from "./bulk-change.ts";
import classes from "./bulk-dialog.module.css";
import { ConfirmActions } from "./confirm-actions.tsx";
import { countOf } from "./count.ts";
import dialogClasses from "./dialog.module.css";
import { FormDialog } from "./form-dialog.tsx";
import { FormFailure } from "./form-failure.tsx";
import { IssuedSecrets } from "./issued-secrets.tsx";
import { type BulkResult, type ItemFailure, runBulkChange } from "./run-bulk-change.ts";
import { usePendingSecrets } from "./uncopied-secrets.ts";
import { watchPage } from "./watch-page.ts";

const idle = { done: 0, isBusy: false, failures: [], secrets: [] };

const lostResponse =
  "The server didn’t respond. The change may have been made. Check the list before you try again.";
/** How many names a sentence contains. */
const maxNames = 3;

interface BulkDialogProps {
  /** Undefined while the dialog is closed. */
  readonly change: BulkChange | undefined;
  readonly onClose: () => void;
  /** Called after the change with the positions of the items that failed. */
  readonly onDone: (failed: readonly number[]) => void;
}

/** Asks before all selected items are changed, and then says which of them failed, and shows what can't be shown again. */
export function BulkDialog({ change, onClose, onDone }: BulkDialogProps): ReactElement {
  const { run, doneCount, failures, secrets, isBusy, reset } = useBulkChange();
  // The selection shrinks while its items are changed, because the list is refetched.
  const [pending, setPending] = useState<BulkChange>();
  if (change && !pending) setPending(change);
  if (!change && pending) setPending(undefined);
  usePendingSecrets(isBusy && pending?.issued !== undefined);
  const confirm = async (confirmed: BulkChange) => {
    const isPageOpen = watchPage();
    const { failures: failed, done, isShown } = await run(confirmed);
    // Selecting the items that failed navigates, which would return the user to the list that they have left.
    if (!isPageOpen()) {
      onClose();
      notifications.show({ message: `${describeResults(confirmed, failed, done)}.` });
      return;
    }
    onDone(failed.map(({ index }) => index));
    if (isShown) return;
    onClose();
    notifications.show({ message: describeDone(confirmed, done) });
    focusPage();
  };
  const close = () => {
    onClose();
    if (hasResults && failures.length === 0) focusPage();
  };
  const hasResults = failures.length > 0 || secrets.length > 0;
  return (
    <FormDialog
      isOpen={pending !== undefined}
      isBusy={isBusy}
      title={pending && (hasResults ? describeResults(pending, failures, doneCount) : `${pending.title}?`)}
      size={480}
      onClose={close}
      onClosed={reset}
    >
      {pending && hasResults ? (
        <>
          {failures.length > 0 && <Failures change={pending} failures={failures} doneCount={doneCount} />}
          {pending.issued && secrets.length > 0 ? (
            <IssuedSecrets texts={pending.issued} secrets={secrets} onDone={close} />
          ) : (
            <Group justify="flex-end">
              <Button variant="default" onClick={close}>
                Close
              </Button>
            </Group>
          )}
        </>
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
    </FormDialog>
  );
}

/** The button that opened the dialog was removed with the selection. */
function focusPage(): void {
  document.getElementById("content")?.focus();
}

interface FailuresProps {
  readonly change: BulkChange;
  readonly failures: readonly ItemFailure[];
  /** The number of items that were changed. */
  readonly doneCount: number;
}

/** Why items failed. The items with the same reason are listed together. */
function Failures({ change, failures, doneCount }: FailuresProps): ReactElement {
  const byReason = Map.groupBy(failures, (failure) => (isUnknown(failure) ? lostResponse : failure.message));
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
    </>
  );
}

function describeDone(change: BulkChange, count: number): string {
  return `${countDone(change, count)}.`;
}

function countDone({ nouns: [singular, plural], done }: BulkChange, count: number): string {
  return `${countOf(count, `${singular} was`, `${plural} were`)} ${done}`;
}

/** The title of the results. */
function describeResults(change: BulkChange, failures: readonly ItemFailure[], doneCount: number): string {
  return failures.length > 0 ? describeFailed(change, failures) : countDone(change, doneCount);
}

function describeFailed({ nouns: [singular, plural], done }: BulkChange, failures: readonly ItemFailure[]) {
  const { length: count } = failures;
  return failures.some(isUnknown)
    ? `${countOf(count, singular, plural)} may not have been ${done}`
    : `${countOf(count, `${singular} wasn’t`, `${plural} weren’t`)} ${done}`;
}

/** Whether the response was lost, so that the item may have been changed. */
function isUnknown({ code }: ItemFailure): boolean {
  return code === "NO_ANSWER";
}

function listNames(names: readonly string[]): string {
  const others = names.length - maxNames;
  return names.slice(0, maxNames).join(", ") + (others > 0 ? ` and ${others} more` : "");
}

interface BulkState extends BulkResult {
  readonly isBusy: boolean;
}

function useBulkChange() {
  const [state, setState] = useState<BulkState>(idle);
  const reset = () => setState(idle);
  /** Returns the result, and whether there is something to show. */
  const run = async (change: BulkChange) => {
    const showProgress = (done: number) => setState({ ...idle, done, isBusy: true });
    showProgress(0);
    const result = await runBulkChange(change, showProgress);
    await change.refresh();
    setState({ ...result, isBusy: false });
    return { ...result, isShown: result.failures.length > 0 || result.secrets.length > 0 };
  };
  return { ...state, run, doneCount: state.done, reset };
}
