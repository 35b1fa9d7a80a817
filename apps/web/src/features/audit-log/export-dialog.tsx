import { Button, Group, Modal } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation } from "@tanstack/react-query";
import { type ReactElement, useEffect, useRef, useState } from "react";
import { describeFailure, parseErrorBody } from "../../server/failure.ts";
import type { SessionWorkspace } from "../../server/trpc.ts";
import { Choice, Choices } from "../../ui/choice.tsx";
import { countOf } from "../../ui/count.ts";
import classes from "../../ui/dialog.module.css";
import { describeDuration } from "../../ui/elapsed.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import { isLogFiltered } from "../../ui/log-filter.ts";
import { saveFile } from "../../ui/save-file.ts";
import { secondsSince } from "../../ui/seconds-since.ts";
import { toFilter } from "./audit-log-filter.ts";
import type { AuditLogSearch } from "./audit-log-search.ts";
import { type ExportFormat, exportAuditLog, ResponseError } from "./export-audit-log.ts";

interface ExportDialogProps {
  readonly workspace: SessionWorkspace;
  /** The filters of the page, which the export has too. */
  readonly search: AuditLogSearch;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Exports the events that match the filters, with the number so far. Closing the dialog cancels the export. */
export function ExportDialog({ isOpen, onClose, ...props }: ExportDialogProps): ReactElement {
  return (
    <Modal opened={isOpen} onClose={onClose} title="Export the audit log" size={480}>
      {isOpen && <Export {...props} onClose={onClose} />}
    </Modal>
  );
}

function Export({ workspace, search, onClose }: Omit<ExportDialogProps, "isOpen">): ReactElement {
  const [format, setFormat] = useState<ExportFormat>("csv");
  const [progress, setProgress] = useState(noProgress);
  const stopping = useRef<AbortController>(undefined);
  useEffect(() => () => stopping.current?.abort(), []);
  const startedAt = useRef(0);
  const report = (count: number) => setProgress({ count, seconds: secondsSince(startedAt.current) });
  const download = useMutation({
    mutationFn: () => {
      setProgress(noProgress);
      startedAt.current = performance.now();
      const controller = new AbortController();
      stopping.current = controller;
      const input = { workspaceId: workspace.id, format, ...toFilter(search) };
      return exportAuditLog(input, { signal: controller.signal, onProgress: report });
    },
    onSuccess: ({ blob, count: exported }) => {
      saveFile(blob, `${workspace.slug}-audit-log.${format}`);
      const took = describeDuration(secondsSince(startedAt.current));
      notifications.show({ message: `Exported ${countOf(exported, "event", "events")} in ${took}.` });
      onClose();
    },
    retry: false,
  });
  return (
    <>
      <p className={classes.words}>
        {isLogFiltered(search)
          ? "The file contains all events that match the filters of the page, newest first."
          : "The file contains all events of this workspace, newest first."}
      </p>
      {download.isPending ? (
        <p className={classes.words} role="status">
          {countOf(progress.count, "event", "events")} in {describeDuration(progress.seconds)} so far
        </p>
      ) : (
        <Choices label="Format">
          <Choice
            kind="radio"
            name="format"
            label="CSV"
            help="For spreadsheets. Text that a spreadsheet would interpret as a formula begins with an apostrophe."
            isChosen={format === "csv"}
            hasAutofocus
            onChoose={() => setFormat("csv")}
          />
          <Choice
            kind="radio"
            name="format"
            label="NDJSON"
            help="For programs: each line is an event in JSON, as in the open API."
            isChosen={format === "ndjson"}
            onChoose={() => setFormat("ndjson")}
          />
        </Choices>
      )}
      {download.error && <ExportFailure error={download.error} />}
      <Group justify="flex-end" gap={8} mt={16}>
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button disabled={download.isPending} onClick={() => download.mutate()}>
          Export
        </Button>
      </Group>
    </>
  );
}

const noProgress = { count: 0, seconds: 0 };

function ExportFailure({ error }: { readonly error: Error }): ReactElement {
  const { message, requestId } =
    error instanceof ResponseError
      ? (parseErrorBody(error.body) ?? describeFailure(error))
      : { message: "The export stopped before it was complete. Try again.", requestId: undefined };
  return <FormFailure message={message} requestId={requestId} />;
}
