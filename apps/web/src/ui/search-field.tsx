import { TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { type ReactElement, useEffect, useRef, useState } from "react";
import classes from "./toolbar.module.css";

const debounceMilliseconds = 200;

interface SearchFieldProps {
  /** The accessible name, such as "Search API keys". */
  readonly label: string;
  readonly placeholder: string;
  readonly maxLength: number;
  /** The search in the URL. */
  readonly search: string;
  readonly onSearch: (text: string) => void;
}

/**
 * Updates the URL 200 ms after the last keystroke, and follows other changes of the URL, such as
 * "Back".
 */
export function SearchField(props: SearchFieldProps): ReactElement {
  const { label, placeholder, maxLength, search, onSearch } = props;
  const [text, setText] = useState(search);
  const lastReported = useRef(search);
  const reportSearch = useDebouncedCallback((next: string) => {
    lastReported.current = next.trim() === "" ? "" : next;
    onSearch(next);
  }, debounceMilliseconds);
  useEffect(() => {
    if (search === lastReported.current) return;
    lastReported.current = search;
    setText(search);
  }, [search]);
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
      onChange={(event) => {
        setText(event.currentTarget.value);
        reportSearch(event.currentTarget.value);
      }}
    />
  );
}
