import "@mantine/core/styles/Progress.css";
import { KeyFileError } from "@latchkey/key-file/key-file-error";
import { Button, FileInput, Group, Progress } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useEffect, useRef, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import { trpc } from "../../server/trpc.ts";
import { countOf } from "../../ui/count.ts";
import dialogClasses from "../../ui/dialog.module.css";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { FormFailure } from "../../ui/form-failure.tsx";
import classes from "./import.module.css";
import { ImportResult } from "./import-result.tsx";
import { type ImportProgress, noProgress, sendKeyFile } from "./send-key-file.ts";

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
  const queryClient = useQueryClient();
  const [file, setFile] = useState<File | null>(null);
  const [problem, setProblem] = useState<string>();
  const [progress, setProgress] = useState(noProgress);
  const stopping = useRef<AbortController>(undefined);
  useEffect(() => () => stopping.current?.abort(), []);
  const sending = useMutation({
    mutationFn: async (chosen: File) => {
      const controller = new AbortController();
      stopping.current = controller;
      setProgress(noProgress);
      onBusy(true);
      return await sendKeyFile(
        chosen,
        { workspaceId, keyspaceId },
        { signal: controller.signal, onProgress: setProgress },
      );
    },
    onSuccess: setProgress,
    onSettled: () => {
      onBusy(false);
      void queryClient.invalidateQueries({ queryKey: trpc.issuedKeys.pathKey() });
      void queryClient.invalidateQueries({ queryKey: trpc.keyspaces.pathKey() });
    },
    retry: false,
  });
  const isStopped = stopping.current?.signal.aborted ?? false;
  const isOver = sending.isSuccess || (sending.isError && isStopped);
  return (
    <form
      className={dialogClasses.form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (sending.isPending) return;
        if (file) sending.mutate(file);
        else setProblem("Choose a file.");
      }}
    >
      <p className={dialogClasses.words}>
        Keys of another system keep working: the file has their SHA-256, not the keys themselves.
      </p>
      <FileInput
        label="File"
        description="CSV with a header line, or NDJSON. Only the column hash is required."
        placeholder="Choose a file"
        accept=".csv,.ndjson,.jsonl"
        clearable
        clearButtonProps={{ "aria-label": "Remove the file" }}
        disabled={sending.isPending}
        value={file}
        error={problem}
        data-autofocus
        onChange={(chosen) => {
          setFile(chosen);
          setProblem(undefined);
          setProgress(noProgress);
          sending.reset();
        }}
      />
      <pre className={classes.example}>{example}</pre>
      <div role="status" className={classes.status}>
        {sending.isPending && <Running progress={progress} />}
        {isOver && <ImportResult result={progress} isStopped={isStopped} />}
      </div>
      {sending.error && !isStopped && <ImportFailure error={sending.error} progress={progress} />}
      <Group justify="flex-end" gap={8} className={dialogClasses.foot}>
        {sending.isPending ? (
          <Button variant="default" onClick={() => stopping.current?.abort()}>
            Stop
          </Button>
        ) : (
          <Button variant="default" onClick={onClose}>
            {isOver ? "Close" : "Cancel"}
          </Button>
        )}
        {!isOver && (
          <Button type="submit" disabled={sending.isPending}>
            Import
          </Button>
        )}
      </Group>
    </form>
  );
}

const example = `hash,start,externalId,permissions,credits
9f86d081…0f00a08,acme_4fTq,customer_42,documents.read admin,500`;

function Running({ progress: { imported, share } }: { readonly progress: ImportProgress }): ReactElement {
  const percent = Math.round(share * 100);
  return (
    <>
      <Progress value={percent} aria-label="Import" />
      <p className={dialogClasses.words}>{countOf(imported, "key", "keys")} imported so far</p>
    </>
  );
}

function ImportFailure({
  error,
  progress,
}: {
  readonly error: Error;
  readonly progress: ImportProgress;
}): ReactElement {
  const before =
    progress.imported > 0 ? ` ${countOf(progress.imported, "key", "keys")} before that were imported.` : "";
  if (error instanceof KeyFileError)
    return <FormFailure message={error.message + before} requestId={undefined} />;
  const { message, requestId } = describeFailure(error);
  return <FormFailure message={message + before} requestId={requestId} />;
}
