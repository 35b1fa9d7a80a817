import { TextInput } from "@mantine/core";
import type { ReactElement } from "react";
import classes from "../../ui/toolbar.module.css";
import { useDelayedText } from "../../ui/use-delayed-text.ts";

interface TextFilterProps {
  /** The accessible name and the placeholder, such as "Permission". */
  readonly label: string;
  /** In Unicode code points. */
  readonly maxLength: number;
  /** Cuts what must not be in the URL from a text, and from the field too. */
  readonly cut?: (text: string) => string;
  /** Whether a text can be filtered by; an incomplete one changes nothing. */
  readonly isComplete: (text: string) => boolean;
  /** What to enter, shown while the text is incomplete. */
  readonly error?: string;
  /** The filter in the URL. */
  readonly value: string | undefined;
  readonly onChoose: (value: string | undefined) => void;
}

/** A filter by an exact text in the toolbar of a table. It applies 200 ms after the last keystroke, and follows the URL. */
export function TextFilter(props: TextFilterProps): ReactElement {
  const { label, maxLength, cut = (typed) => typed, isComplete, error, value = "", onChoose } = props;
  const [text, setText] = useDelayedText({
    value,
    read: (typed) => (typed.trim() === "" || isComplete(typed.trim()) ? typed.trim() : undefined),
    onChange: (next) => onChoose(next === "" ? undefined : next),
  });
  return (
    <TextInput
      className={classes.filter}
      aria-label={label}
      placeholder={label}
      // The browser counts UTF-16 code units, at most two per code point.
      maxLength={2 * maxLength}
      autoComplete="off"
      autoCapitalize="none"
      spellCheck={false}
      value={text}
      error={text.trim() !== "" && !isComplete(text.trim()) && error}
      onChange={(event) => setText(cut(event.currentTarget.value))}
    />
  );
}
