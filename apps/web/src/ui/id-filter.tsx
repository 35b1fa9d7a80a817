import { TextInput } from "@mantine/core";
import type { ReactElement } from "react";
import { type TypedFilter, useTypedText } from "./use-typed-text.ts";

interface IdFilterProps extends TypedFilter {
  readonly label: string;
  readonly isId: (text: string) => boolean;
  /** Shown below a text that is not a complete ID. */
  readonly error: string;
}

/** Filters by a complete ID. */
export function IdFilter({ label, isId, error, ...filter }: IdFilterProps): ReactElement {
  const [text, setText] = useTypedText(filter, isId);
  return (
    <TextInput
      label={label}
      placeholder="Any ID"
      maxLength={100}
      autoComplete="off"
      spellCheck={false}
      value={text}
      error={text !== "" && !isId(text) && error}
      onChange={(event) => setText(event.currentTarget.value.trim())}
    />
  );
}
