import { Button } from "@mantine/core";
import type { ReactElement } from "react";
import classes from "../../ui/empty.module.css";
import { type StatusFilter, statusFilters } from "../../ui/key-status.ts";
import { Quoted } from "../../ui/quoted.tsx";

interface NoMatchProps {
  readonly search: string;
  readonly status: StatusFilter | undefined;
  readonly onClear: () => void;
}

/** Replaces the list if no key matches the search and the status. */
export function NoMatch({ search, status, onClear }: NoMatchProps): ReactElement {
  return (
    <section className={classes.panel}>
      <h2 className={classes.title}>
        {search === "" ? (
          "No key has this status"
        ) : (
          <>
            No key matches <Quoted>{search}</Quoted>
          </>
        )}
      </h2>
      <p className={classes.words}>
        Search covers names, descriptions and the first characters of keys.
        {status && ` Only keys with the status “${statusFilters[status]}” are searched.`}
      </p>
      <Button variant="default" onClick={onClear}>
        {status ? "Clear filters" : "Clear search"}
      </Button>
    </section>
  );
}
