import { TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import type { ReactElement } from "react";
import classes from "./toolbar.module.css";
import { useDelayedText } from "./use-delayed-text.ts";

interface SearchFieldProps {
  /** The accessible name, such as "Search API keys". */
  readonly label: string;
  readonly placeholder: string;
  readonly maxLength: number;
  /** Cuts what must not be in the URL from a text, and from the field too. */
  readonly cut?: (text: string) => string;
  /** The search in the URL. */
  readonly search: string;
  readonly onSearch: (text: string) => void;
}

/** Searches 200 ms after the last keystroke, and follows the URL. */
export function SearchField(props: SearchFieldProps): ReactElement {
  const { label, placeholder, maxLength, cut = (typed) => typed, search, onSearch } = props;
  const [text, setText] = useDelayedText({
    value: search,
    read: (typed) => (typed.trim() === "" ? "" : typed),
    onChange: onSearch,
  });
  return (
    <TextInput
      className={classes.search}
      type="search"
      aria-label={label}
      placeholder={placeholder}
      maxLength={maxLength}
      autoComplete="off"
      spellCheck={false}
      leftSection={<IconSearch size={16} />}
      value={text}
      onChange={(event) => setText(cut(event.currentTarget.value))}
    />
  );
}
