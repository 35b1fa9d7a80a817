import { TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { type ReactElement, useEffect, useRef, useState } from "react";
import { countOf, formatCount } from "../../ui/count.ts";
import classes from "./api-key-toolbar.module.css";
import { Pager } from "./pager.tsx";
import { pageSize } from "./use-api-keys.ts";

const debounceMilliseconds = 200;

interface ApiKeyToolbarProps {
  readonly search: string;
  readonly page: number;
  /** How many keys match; undefined while that is not known. */
  readonly total: number | undefined;
  /** Whether the last refresh failed, so that what is shown may be old. */
  readonly isStale: boolean;
  readonly onSearch: (text: string) => void;
  readonly onPage: (page: number) => void;
}

export function ApiKeyToolbar(props: ApiKeyToolbarProps): ReactElement {
  const { search, page, total, isStale, onSearch, onPage } = props;
  return (
    <div className={classes.toolbar}>
      <SearchField search={search} onSearch={onSearch} />
      <div className={classes.results}>
        <span role="status" className={classes.count}>
          {isStale ? "Not up to date. Trying again." : total !== undefined && describeResults(page, total)}
        </span>
        <Pager label="Pages" page={page} total={total} onPage={onPage} />
      </div>
    </div>
  );
}

function describeResults(page: number, total: number): string {
  const keys = countOf(total, "key", "keys");
  if (total <= pageSize) return keys;
  const first = (page - 1) * pageSize + 1;
  return `${formatCount(first)}–${formatCount(Math.min(page * pageSize, total))} of ${keys}`;
}

interface SearchFieldProps {
  readonly search: string;
  readonly onSearch: (text: string) => void;
}

/** Types freely and tells the address a moment later; follows the address when that changes otherwise. */
function SearchField({ search, onSearch }: SearchFieldProps): ReactElement {
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
      aria-label="Search API keys"
      placeholder="Search"
      maxLength={100}
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
