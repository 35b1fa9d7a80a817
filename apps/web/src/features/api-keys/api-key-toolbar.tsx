import { maxLength } from "@latchkey/limits";
import type { ReactElement } from "react";
import { SearchField } from "../../ui/search-field.tsx";
import classes from "../../ui/toolbar.module.css";
import { describeResults } from "./describe-results.ts";
import { Pager } from "./pager.tsx";

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
      <SearchField
        label="Search API keys"
        placeholder="Search keys"
        maxLength={maxLength.search}
        search={search}
        onSearch={onSearch}
      />
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
  if (state === "stale") return "Not up to date. Retrying…";
  return total === undefined ? "" : describeResults(page, total);
}
