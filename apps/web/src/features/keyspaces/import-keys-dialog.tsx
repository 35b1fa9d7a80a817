import "@mantine/core/styles/Progress.css";
import { KeyFileError } from "@latchkey/key-file/key-file-error";
import { keyFileFields } from "@latchkey/key-file/key-file-fields";
import { Button, FileInput, Group, Progress } from "@mantine/core";
import { Children, type MouseEvent, type ReactElement, type Ref, useEffect, useRef, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { countOf } from "../../ui/count.ts";
import dialogClasses from "../../ui/dialog.module.css";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { FormFailure } from "../../ui/form-failure.tsx";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import classes from "./import.module.css";
import { ImportSummary, RejectedRows } from "./import-result.tsx";
import type { ImportProgress } from "./send-key-file.ts";
import { type KeyImport, useImport } from "./use-import.ts";

interface ImportKeysDialogProps {
  readonly workspaceId: string;
  readonly keyspaceId: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Imports keys of another system from a file, with the progress and a report. */
export function ImportKeysDialog({ isOpen, onClose, ...path }: ImportKeysDialogProps): ReactElement {
  const [isBusy, setIsBusy] = useState(false);
  return (
    <FormDialog
      isOpen={isOpen}
      isBusy={isBusy}
      title="Import keys"
      size={560}
      onClose={onClose}
      closeOnClickOutside={false}
    >
      <Import {...path} onClose={onClose} onBusy={setIsBusy} />
    </FormDialog>
  );
}

interface ImportProps {
  readonly workspaceId: string;
  readonly keyspaceId: string;
  readonly onClose: () => void;
  readonly onBusy: (isBusy: boolean) => void;
}

function Import({ workspaceId, keyspaceId, onClose, onBusy }: ImportProps): ReactElement {
  const [file, setFile] = useState<File | null>(null);
  const [problem, setProblem] = useState<string>();
  const keyImport = useImport({ workspaceId, keyspaceId }, onBusy);
  const { progress, seconds, isPending, isStopping, isStopped, isOver, failure } = keyImport;
  useUnsavedInput(() => isPending);
  const hasResult = isOver || isStopped || (failure !== null && hasRows(progress));
  const hasIntroduction = !isPending && !hasResult;
  const status = useRef<HTMLDivElement>(null);
  const leaveButton = useRef<HTMLButtonElement>(null);
  // The import button loses the focus when the import starts, and is removed when it ends.
  useEffect(() => {
    if (isPending) status.current?.focus();
    else if (isOver || isStopped) leaveButton.current?.focus();
  }, [isPending, isOver, isStopped]);
  return (
    <form
      className={dialogClasses.form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (isPending) return;
        if (file) keyImport.start(file);
        else setProblem("Choose a file.");
      }}
    >
      {hasIntroduction && (
        <p className={dialogClasses.words}>
          Keys that another system issued keep working. The file contains the SHA-256 of each key, not the
          key.
        </p>
      )}
      <FileInput
        label="File"
        description={hasIntroduction && formats}
        placeholder="Choose a file"
        accept=".csv,.ndjson,.jsonl"
        clearable={!isPending}
        clearButtonProps={{ "aria-label": "Remove the file" }}
        disabled={isPending}
        value={file}
        error={problem}
        data-autofocus
        fileInputProps={{ onClick: forgetFile }}
        onChange={(chosen) => {
          setFile(chosen);
          setProblem(undefined);
          keyImport.reset();
        }}
      />
      {hasIntroduction && <Example />}
      {failure && <ImportFailure error={failure} />}
      {isPending && <Progress value={Math.round(progress.share * 100)} aria-label="Import" />}
      <div role="status" className={classes.status} ref={status} tabIndex={-1}>
        {isPending && (
          <p className={dialogClasses.words}>
            {isStopping && "Stopping… "}
            {countOf(progress.imported, "key", "keys")} imported so far
          </p>
        )}
        {hasResult && <ImportSummary result={progress} seconds={seconds} isStopped={isStopped} />}
      </div>
      {hasResult && <RejectedRows rows={progress.rejected} />}
      <ImportActions keyImport={keyImport} leaveButton={leaveButton} onClose={onClose} />
    </form>
  );
}

interface ImportActionsProps {
  readonly keyImport: KeyImport;
  readonly leaveButton: Ref<HTMLButtonElement>;
  readonly onClose: () => void;
}

/** The buttons that start, stop and leave the import. */
function ImportActions({ keyImport, leaveButton, onClose }: ImportActionsProps): ReactElement {
  const { isPending, isStopping, isStopped, isOver, stop } = keyImport;
  const leaveLabel = isOver || isStopped ? "Close" : "Cancel";
  return (
    <Group justify="flex-end" gap={8} className={dialogClasses.foot}>
      {/* Stays the same element, which keeps the focus: a disabled button would lose it. */}
      <Button
        ref={leaveButton}
        variant="default"
        aria-disabled={isStopping}
        {...(isStopping && { "data-disabled": true })}
        onClick={isPending ? stop : onClose}
      >
        {isStopping ? "Stopping…" : isPending ? "Stop" : leaveLabel}
      </Button>
      {!isOver && (
        <BusyButton type="submit" loading={isPending}>
          Import keys
        </BusyButton>
      )}
    </Group>
  );
}

const optionalFields = new Intl.ListFormat("en").format(keyFileFields.filter((field) => field !== "hash"));

const formats = `CSV with a header line, or NDJSON. Only hash is required: the SHA-256 of the key, in hexadecimal, base64 or base64url. The optional fields are ${optionalFields}.`;

const exampleLines = [
  "hash,start,externalId,permissions,credits",
  "9f86d081…0f00a08,acme_4fTq,customer_42,documents.read admin,500",
];

/** A short file. A line that doesn't fit continues after a comma, indented. */
function Example(): ReactElement {
  return (
    <pre className={classes.example}>
      {exampleLines.map((line) => (
        <span key={line}>
          {Children.toArray(line.split(/(?<=,)/).flatMap((cell) => [cell, <wbr key={cell} />]))}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}

/** Otherwise, browsers don't report that the same file was chosen again. */
function forgetFile({ currentTarget }: MouseEvent<HTMLInputElement>): void {
  currentTarget.value = "";
}

function hasRows({ imported, existing, rejected }: ImportProgress): boolean {
  return imported + existing + rejected.length > 0;
}

function ImportFailure({ error }: { readonly error: Error }): ReactElement {
  if (error instanceof KeyFileError) return <FormFailure message={error.message} />;
  const { message, requestId } = describeFailure(error);
  return <FormFailure message={message} requestId={requestId} />;
}
