import { TextInput } from "@mantine/core";
import type { ReactElement } from "react";
import { isDay } from "./days.ts";
import { type TypedFilter, useTypedText } from "./use-typed-text.ts";

/** Filters by a complete day. A text, because the browser's field for dates takes four stops of the Tab key. */
export function DayFilter({ label, ...filter }: TypedFilter & { readonly label: string }): ReactElement {
  const [text, setText] = useTypedText(filter, isDay);
  return (
    <TextInput
      label={label}
      placeholder="YYYY-MM-DD"
      maxLength={10}
      autoComplete="off"
      value={text}
      error={text !== "" && !isDay(text) && "Enter a day, such as 2026-03-01."}
      onChange={(event) => setText(event.currentTarget.value.trim())}
    />
  );
}
