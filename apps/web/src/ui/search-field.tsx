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
  /** What the address says. */
  readonly search: string;
  readonly onSearch: (text: string) => void;
}

/** Types freely and tells the address a moment later; follows the address when that changes otherwise. */
export function SearchField(props: SearchFieldProps): ReactElement {
  const { label, placeholder, maxLength, search, onSearch } = props;
  const [text, setText] = useState(search);
  const told = useRef(search);
  const tell = useDebouncedCallback((next: string) => {
    told.current = next.trim() === "" ? "" : next;
    onSearch(next);
  }, debounceMilliseconds);
  useEffect(() => {
    if (search === told.current) return;
    told.current = search;
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
        tell(event.currentTarget.value);
      }}
    />
  );
}
