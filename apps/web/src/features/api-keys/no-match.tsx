import { Button } from "@mantine/core";
import type { ReactElement } from "react";
import classes from "../../ui/empty.module.css";
import { Quoted } from "../../ui/quoted.tsx";

interface NoMatchProps {
  readonly search: string;
  readonly onClear: () => void;
}

/** What stands where keys would be, had the search found any. */
export function NoMatch({ search, onClear }: NoMatchProps): ReactElement {
  return (
    <section className={classes.panel}>
      <h2 className={classes.title}>
        No key matches <Quoted>{search}</Quoted>
      </h2>
      <p className={classes.words}>Search covers names, descriptions and the first characters of keys.</p>
      <Button variant="default" onClick={onClear}>
        Clear search
      </Button>
    </section>
  );
}
