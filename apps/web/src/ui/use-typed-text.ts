import { useEffect, useRef, useState } from "react";

/** A filter in the URL that the user types. */
export interface TypedFilter {
  /** The filter in the URL. */
  readonly value: string | undefined;
  readonly onChoose: (value: string | undefined) => void;
}

/** A text that becomes the filter when it is complete, and no filter when it is empty. It follows other changes of the URL. */
export function useTypedText(
  { value, onChoose }: TypedFilter,
  isComplete: (text: string) => boolean,
): [string, (text: string) => void] {
  const [text, setText] = useState(value ?? "");
  // A filter that was reported and arrives in the URL must not replace what was typed since.
  const lastReported = useRef(value);
  useEffect(() => {
    if (value === lastReported.current) return;
    lastReported.current = value;
    setText(value ?? "");
  }, [value]);
  const change = (next: string): void => {
    setText(next);
    if (next !== "" && !isComplete(next)) return;
    lastReported.current = next || undefined;
    onChoose(next || undefined);
  };
  return [text, change];
}
