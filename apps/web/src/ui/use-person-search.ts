import { maxLength } from "@latchkey/limits";
import { useDebouncedValue } from "@mantine/hooks";
import { useState } from "react";

const debounceMilliseconds = 200;

/** What the user types into a `PersonSelect`. */
export interface PersonSearch {
  /** What to search for on the server; undefined until the field gets the focus for the first time. */
  readonly text: string | undefined;
  /** The text in the field; undefined while it shows the chosen person. */
  readonly typed: string | undefined;
  /** Whether `text` is what the user typed, and not what they typed shortly before. */
  readonly isCurrent: boolean;
  readonly onUse: () => void;
  readonly onType: (typed: string | undefined) => void;
}

export function usePersonSearch(): PersonSearch {
  const [isUsed, setIsUsed] = useState(false);
  const [typed, setTyped] = useState<string>();
  const current = typed?.trim().slice(0, maxLength.search) ?? "";
  const [search] = useDebouncedValue(current, debounceMilliseconds);
  return {
    text: isUsed ? search : undefined,
    typed,
    isCurrent: search === current,
    onUse: () => setIsUsed(true),
    onType: setTyped,
  };
}
