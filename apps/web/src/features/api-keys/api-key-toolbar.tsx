import { TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { type ReactElement, useEffect, useRef, useState } from "react";
import classes from "./api-key-toolbar.module.css";
import { searchLengthMax } from "./api-keys-search.ts";
import { describeResults } from "./describe-results.ts";
import { Pager } from "./pager.tsx";

const debounceMilliseconds = 200;

/**
 * How the list stands to the address: it answers it; the answer is still to come; it answers it, but the last
 * refresh failed; there is none.
 */
export type ListState = "ready" | "loading" | "stale" | "failed";

interface ApiKeyToolbarProps {
  readonly search: string;
  readonly page: number;
  /** How many keys match; undefined while that is not known. */
  readonly total: number | undefined;
  readonly state: ListState;
  readonly onSearch: (text: string) => void;
  readonly onPage: (page: number) => void;
}

export function ApiKeyToolbar(props: ApiKeyToolbarProps): ReactElement {
  const { search, page, total, state, onSearch, onPage } = props;
  return (
    <div className={classes.toolbar}>
      <SearchField search={search} onSearch={onSearch} />
      <div className={classes.results}>
        <span role="status" className={classes.count}>
          {describeState(state, page, total)}
        </span>
        <Pager label="Pages" page={page} total={total} onPage={onPage} />
      </div>
    </div>
  );
}

function describeState(state: ListState, page: number, total: number | undefined): string {
  if (state === "loading") return "Loading…";
  if (state === "stale") return "Not up to date. Trying again.";
  return total === undefined ? "" : describeResults(page, total);
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
      placeholder="Search keys"
      maxLength={searchLengthMax}
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
