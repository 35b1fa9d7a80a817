import { Button, Group } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation } from "@tanstack/react-query";
import { TRPCClientError } from "@trpc/client";
import { type ReactElement, type ReactNode, useEffect, useRef, useState } from "react";
import { BusyButton } from "../ui/busy-button.tsx";
import { countOf } from "../ui/count.ts";
import classes from "../ui/dialog.module.css";
import { describeDuration } from "../ui/elapsed.ts";
import { FormFailure } from "../ui/form-failure.tsx";
import { saveFile } from "../ui/save-file.ts";
import { secondsSince } from "../ui/seconds-since.ts";
import { downloadExport, type ExportSource } from "./download-export.ts";
import { describeFailure } from "./failure.ts";

interface ExportFormProps {
  /** What the file contains. */
  readonly explanation: ReactNode;
  /** The choices, which the progress replaces. */
  readonly children: ReactNode;
  /** Called when the export starts. */
  readonly readSource: () => ExportSource;
  readonly fileName: string;
  /** What a record is called, in the singular and the plural. */
  readonly nouns: readonly [string, string];
  readonly onClose: () => void;
}

/** The content of a dialog that downloads an export, with the number of records so far. Closing the dialog cancels the export. */
export function ExportForm(props: ExportFormProps): ReactElement {
  const { explanation, children, readSource, fileName, nouns, onClose } = props;
  const [progress, setProgress] = useState(noProgress);
  const [announced, setAnnounced] = useState(noProgress);
  const stopping = useRef<AbortController>(undefined);
  useEffect(() => () => stopping.current?.abort(), []);
  const startedAt = useRef(0);
  const report = (count: number) => {
    const latest = { count, seconds: secondsSince(startedAt.current) };
    setProgress(latest);
    setAnnounced((last) => (latest.seconds - last.seconds < announceEverySeconds ? last : latest));
  };
  const describe = ({ count, seconds }: typeof noProgress) =>
    `${countOf(count, ...nouns)} in ${describeDuration(seconds)} so far`;
  const download = useMutation({
    mutationFn: () => {
      setProgress(noProgress);
      setAnnounced(noProgress);
      startedAt.current = performance.now();
      const controller = new AbortController();
      stopping.current = controller;
      return downloadExport(readSource(), { signal: controller.signal, onProgress: report });
    },
    onSuccess: ({ blob, count: exported }) => {
      saveFile(blob, fileName);
      const took = describeDuration(secondsSince(startedAt.current));
      notifications.show({ message: `Exported ${countOf(exported, ...nouns)} in ${took}.` });
      onClose();
    },
    retry: false,
  });
  return (
    <>
      <p className={classes.words}>{explanation}</p>
      {download.isPending ? (
        <>
          {/* Changes with every chunk of the response, which a screen reader would announce each time. */}
          <p className={classes.words} aria-hidden="true">
            {describe(progress)}
          </p>
          <span className="visually-hidden" role="status">
            {describe(announced)}
          </span>
        </>
      ) : (
        children
      )}
      {download.error && <ExportFailure error={download.error} />}
      <Group justify="flex-end" gap={8} mt={16}>
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <BusyButton loading={download.isPending} onClick={() => download.mutate()}>
          Export
        </BusyButton>
      </Group>
    </>
  );
}

/** How often the progress is announced to users of a screen reader. */
const announceEverySeconds = 5;

const noProgress = { count: 0, seconds: 0 };

function ExportFailure({ error }: { readonly error: Error }): ReactElement {
  const { message, requestId } =
    error instanceof TRPCClientError
      ? describeFailure(error)
      : { message: "The export stopped before it was complete. Try again.", requestId: undefined };
  return <FormFailure message={message} requestId={requestId} />;
}
