import { auditRetentionDays as limits } from "@latchkey/limits";
import { Skeleton, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useIsMutating, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactElement, useRef, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import { trpc, type Workspace } from "../../server/trpc.ts";
import { useConflict } from "../../server/use-conflict.tsx";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { ConfirmActions } from "../../ui/confirm-actions.tsx";
import { countOf } from "../../ui/count.ts";
import classes from "../../ui/dialog.module.css";
import { describeExactly, readerLocale } from "../../ui/elapsed.ts";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import { isWholeNumber } from "../../ui/whole-number.ts";
import { describeRetention } from "./workspace-values.ts";

interface RetentionDialogProps {
  readonly workspace: Workspace;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Changes how long the audit log is kept, after it has shown how many events the change deletes. */
export function RetentionDialog({ workspace, isOpen, onClose }: RetentionDialogProps): ReactElement {
  const isChanging = useIsMutating({ mutationKey: trpc.workspaces.update.mutationKey() }) > 0;
  return (
    <FormDialog
      isOpen={isOpen}
      isBusy={isChanging}
      title="Change how long the audit log is kept"
      size={480}
      onClose={onClose}
    >
      {isOpen && <Retention workspace={workspace} onClose={onClose} />}
    </FormDialog>
  );
}

/** Saves only if the retention is still the one that the user saw. */
function Retention({ workspace, onClose }: Omit<RetentionDialogProps, "isOpen">): ReactElement {
  const queryClient = useQueryClient();
  const query = trpc.workspaces.get.queryOptions({ workspaceId: workspace.id });
  const { base, notice, clear, onError, omitReported } = useConflict({
    noun: "workspace",
    item: workspace,
    load: () => queryClient.fetchQuery({ ...query, staleTime: 0 }),
    isSame: (before, after) => textOf(before) === textOf(after),
    describe: ({ auditRetentionDays }) => ({ "Audit log": describeRetention(auditRetentionDays) }),
  });
  const update = useMutation(
    trpc.workspaces.update.mutationOptions({
      onSuccess: (updated) => {
        queryClient.setQueryData(query.queryKey, { ...workspace, ...updated });
        onClose();
        notifications.show({ message: "Audit log retention saved." });
      },
      onError,
    }),
  );
  const error = omitReported(update.error);
  const isBusy = update.isPending;
  const [text, setText] = useState(textOf(base));
  const input = useRef<HTMLInputElement>(null);
  const days = text.trim() === "" ? null : Number(text);
  useUnsavedInput(() => text !== textOf(base));
  const isValid = days === null || isWholeNumber(text, limits);
  const isChanged = days !== (base.auditRetentionDays ?? null);
  const isCounted = isValid && isChanged && days !== null;
  const preview = useQuery(
    trpc.audit.previewRetention.queryOptions(
      { workspaceId: workspace.id, days: days ?? limits.max },
      // What was counted before may no longer be true.
      { enabled: isCounted, staleTime: 0, gcTime: 0 },
    ),
  );
  const loadingFailure = useLoadingFailure(preview);
  const countFailure = isCounted ? loadingFailure : undefined;
  const isDeleting = isCounted && preview.data !== undefined && preview.data.count > 0;
  // Without the count, the user doesn't know what the change deletes.
  const isCounting = isCounted && preview.data === undefined;
  const canSave = isValid && !isCounting;
  const effect = canSave && isChanged ? describeEffect(isCounted ? preview.data : undefined) : "\u00a0";
  const save = () => {
    if (!canSave || isBusy) return;
    clear();
    if (isChanged)
      update.mutate({ workspaceId: workspace.id, auditRetentionDays: days, version: base.version });
    else onClose();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    // Enter doesn't submit a change that deletes events; only the button does.
    if (!isDeleting) save();
  };
  const reset = (event: FormEvent) => {
    event.preventDefault();
    setText(textOf(base));
  };
  return (
    <>
      <form className={classes.form} noValidate onReset={reset} onSubmit={submit}>
        {notice}
        <TextInput
          ref={input}
          label="Retention, in days"
          description="Leave empty to keep the audit log forever."
          placeholder="Forever"
          inputMode="numeric"
          autoComplete="off"
          data-autofocus
          mb={16}
          maxLength={10}
          value={text}
          error={
            !isValid &&
            `Enter a whole number of days from ${limits.min} to ${limits.max.toLocaleString(readerLocale())}, or leave empty.`
          }
          onChange={(event) => setText(event.currentTarget.value)}
        />
      </form>
      {countFailure && (
        <div className={classes.preview}>
          <FailurePanel
            title="Couldn’t count the events that would be deleted"
            message={countFailure.message}
            requestId={countFailure.requestId}
            isRetrying={preview.isFetching}
            onRetry={() => {
              // The button is removed when the count arrives.
              input.current?.focus();
              void preview.refetch();
            }}
          />
        </div>
      )}
      <div className={classes.words} role="status">
        {isCounting ? !countFailure && <Skeleton h={20} /> : effect}
      </div>
      <ConfirmActions
        action={isDeleting ? "Delete events and save" : "Save"}
        isDangerous={isDeleting}
        failure={error ? describeFailure(error) : undefined}
        isBusy={isBusy}
        isActionDisabled={!canSave}
        onCancel={onClose}
        onConfirm={save}
      />
    </>
  );
}

function textOf({ auditRetentionDays }: Workspace): string {
  return auditRetentionDays?.toString() ?? "";
}

interface Preview {
  readonly count: number;
  readonly isComplete: boolean;
  readonly oldestAt: string | null;
}

function describeEffect(preview: Preview | undefined): string {
  if (!preview?.oldestAt) return "No event is deleted now.";
  const { count, isComplete, oldestAt } = preview;
  const events = `${isComplete ? "" : "At least "}${countOf(count, "event", "events")}`;
  return `${events}, the oldest from ${describeExactly(new Date(oldestAt))}, will be deleted. This can’t be undone. Export the log first to keep them.`;
}
