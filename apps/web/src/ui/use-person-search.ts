import { maxLength } from "@latchkey/limits";
import { useDebouncedValue } from "@mantine/hooks";
import { useState } from "react";

const debounceMilliseconds = 200;

/** What the user types into a `PersonSelect`. */
export interface PersonSearch {
  /** What to search for on the server; undefined until the field gets the focus for the first time. */
  readonly text: string | undefined;
  readonly onUse: () => void;
  readonly onText: (text: string) => void;
  readonly onTyping: (isTyping: boolean) => void;
}

export function usePersonSearch(): PersonSearch {
  const [isUsed, setIsUsed] = useState(false);
  const [text, setText] = useState("");
  const [isTyping, setIsTyping] = useState(false);
  const [search] = useDebouncedValue(
    isTyping ? text.trim().slice(0, maxLength.search) : "",
    debounceMilliseconds,
  );
  return {
    text: isUsed ? search : undefined,
    onUse: () => setIsUsed(true),
    onText: setText,
    onTyping: setIsTyping,
  };
}
