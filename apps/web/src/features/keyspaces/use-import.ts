import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { secondsSince } from "../../ui/seconds-since.ts";
import { refreshKeys } from "./refresh-keys.ts";
import { type ImportProgress, noProgress, sendKeyFile } from "./send-key-file.ts";

/** An import of a file, and its state. */
export interface KeyImport {
  readonly progress: ImportProgress;
  /** How long the import took; 0 until it ends. */
  readonly seconds: number;
  readonly isPending: boolean;
  /** Whether the call in flight is the last one, because the user stopped the import. */
  readonly isStopping: boolean;
  /** Whether the import ended because the user stopped it. */
  readonly isStopped: boolean;
  /** Whether the whole file was sent. */
  readonly isOver: boolean;
  /** Why the import failed; null unless it did. */
  readonly failure: Error | null;
  readonly start: (file: File) => void;
  readonly stop: () => void;
  /** Forgets the last import. */
  readonly reset: () => void;
}

/** Imports the keys of a file into a keyspace. It stops when the component is unmounted. */
export function useImport(
  keyspace: { readonly workspaceId: string; readonly keyspaceId: string },
  onBusy: (isBusy: boolean) => void,
): KeyImport {
  const [progress, setProgress] = useState(noProgress);
  const [seconds, setSeconds] = useState(0);
  const [isStopRequested, setIsStopRequested] = useState(false);
  const startedAt = useRef(0);
  const stopping = useRef<AbortController>(undefined);
  useEffect(() => () => stopping.current?.abort(), []);
  const sending = useMutation({
    mutationFn: async (file: File) => {
      const controller = new AbortController();
      stopping.current = controller;
      startedAt.current = performance.now();
      setProgress(noProgress);
      setIsStopRequested(false);
      onBusy(true);
      return await sendKeyFile(file, keyspace, { signal: controller.signal, onProgress: setProgress });
    },
    onSuccess: setProgress,
    onSettled: () => {
      setSeconds(secondsSince(startedAt.current));
      onBusy(false);
      void refreshKeys();
    },
    retry: false,
  });
  const { isPending, isSuccess, error } = sending;
  // The call in flight is completed. If it was the last one, or if it fails, the import isn't stopped.
  const isStopped = error !== null && error === stopping.current?.signal.reason;
  const isStopping = isPending && isStopRequested;
  return {
    progress,
    seconds,
    isPending,
    isStopping,
    isStopped,
    isOver: isSuccess,
    failure: isStopped ? null : error,
    start: sending.mutate,
    stop() {
      if (isStopping) return;
      setIsStopRequested(true);
      stopping.current?.abort();
    },
    reset() {
      setProgress(noProgress);
      sending.reset();
    },
  };
}
