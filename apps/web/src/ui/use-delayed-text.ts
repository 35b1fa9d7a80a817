import { useDebouncedCallback } from "@mantine/hooks";
import { useEffect, useRef, useState } from "react";

const delayMilliseconds = 200;

interface DelayedTextOptions {
  /** The text in the URL. */
  readonly value: string;
  /** What the URL gets for a typed text; undefined to change nothing. */
  readonly read: (text: string) => string | undefined;
  readonly onChange: (value: string) => void;
}

/**
 * A text that the user types. It is reported 200 ms after the last keystroke, and follows other changes of the URL, such as
 * "Back".
 */
export function useDelayedText({
  value,
  read,
  onChange,
}: DelayedTextOptions): [string, (text: string) => void] {
  const [text, setText] = useState(value);
  // A value that was reported and arrives in the URL must not replace what was typed since.
  const lastReported = useRef(value);
  const report = useDebouncedCallback((typed: string) => {
    const next = read(typed);
    if (next === undefined) return;
    lastReported.current = next;
    onChange(next);
  }, delayMilliseconds);
  useEffect(() => {
    if (value === lastReported.current) return;
    lastReported.current = value;
    setText(value);
  }, [value]);
  const type = (typed: string): void => {
    setText(typed);
    report(typed);
  };
  return [text, type];
}
