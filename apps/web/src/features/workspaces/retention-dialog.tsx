import { auditRetentionDays as limits } from "@latchkey/limits";
import { Skeleton, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactElement, useRef, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import { trpc, type Workspace } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { ConfirmActions } from "../../ui/confirm-actions.tsx";
import { countOf } from "../../ui/count.ts";
import classes from "../../ui/dialog.module.css";
import { describeExactly, readerLocale } from "../../ui/elapsed.ts";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import { isWholeNumber } from "../../ui/whole-number.ts";

interface RetentionDialogProps {
  readonly workspace: Workspace;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Changes how long the audit log is kept, after it has shown how many events the change deletes. */
export function RetentionDialog({ workspace, isOpen, onClose }: RetentionDialogProps): ReactElement {
  const queryClient = useQueryClient();
  const query = trpc.workspaces.get.queryOptions({ workspaceId: workspace.id });
  const update = useMutation(
    trpc.workspaces.update.mutationOptions({
      onSuccess: (updated) => {
        queryClient.setQueryData(query.queryKey, { ...workspace, ...updated });
        onClose();
        notifications.show({ message: "Audit log retention saved." });
      },
      onError: (error) => {
        if (describeFailure(error).code === "PRECONDITION_FAILED")
          void queryClient.invalidateQueries({ queryKey: query.queryKey });
      },
    }),
  );
  return (
    <FormDialog
      isOpen={isOpen}
      isBusy={update.isPending}
      title="Change how long the audit log is kept"
      size={480}
      onClose={onClose}
      onClosed={() => update.reset()}
    >
      {isOpen && (
        <Retention
          workspace={workspace}
          failure={update.error ? describeFailure(update.error) : undefined}
          isBusy={update.isPending}
          onCancel={onClose}
          onSave={(auditRetentionDays) =>
            update.mutate({ workspaceId: workspace.id, auditRetentionDays, version: workspace.version })
          }
        />
      )}
    </FormDialog>
  );
}

interface RetentionProps {
  readonly workspace: Workspace;
  readonly failure: { readonly message: string; readonly requestId?: string | undefined } | undefined;
  readonly isBusy: boolean;
  readonly onCancel: () => void;
  readonly onSave: (days: number | null) => void;
}

function Retention({ workspace, failure, isBusy, onCancel, onSave }: RetentionProps): ReactElement {
  const [text, setText] = useState(workspace.auditRetentionDays?.toString() ?? "");
  const input = useRef<HTMLInputElement>(null);
  const days = text.trim() === "" ? null : Number(text);
  useUnsavedInput(() => text !== (workspace.auditRetentionDays?.toString() ?? ""));
  const isValid = days === null || isWholeNumber(text, limits);
  const isChanged = days !== (workspace.auditRetentionDays ?? null);
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
    if (isChanged) onSave(days);
    else onCancel();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    // Enter doesn't submit a change that deletes events; only the button does.
    if (!isDeleting) save();
  };
  return (
    <>
      <form noValidate onSubmit={submit}>
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
        failure={failure}
        isBusy={isBusy}
        isActionDisabled={!canSave}
        onCancel={onCancel}
        onConfirm={save}
      />
    </>
  );
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
