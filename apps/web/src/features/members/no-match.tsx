import { Button } from "@mantine/core";
import type { ReactElement } from "react";
import { roleTitles } from "../../server/roles.ts";
import type { Role } from "../../server/trpc.ts";
import classes from "../../ui/empty.module.css";
import { Quoted } from "../../ui/quoted.tsx";

interface NoMatchProps {
  readonly search: string;
  readonly role: Role | undefined;
  readonly onClear: () => void;
}

/** What stands where members would be, had the search found any. */
export function NoMatch({ search, role, onClear }: NoMatchProps): ReactElement {
  return (
    <section className={classes.panel}>
      <h2 className={classes.title}>
        {search === "" ? (
          "No member has this role"
        ) : (
          <>
            No member matches <Quoted>{search}</Quoted>
          </>
        )}
      </h2>
      <p className={classes.words}>
        Search covers names and email addresses
        {role ? `, here among those with the role ${roleTitles[role].toLowerCase()} only` : ""}.
      </p>
      <Button variant="default" onClick={onClear}>
        Show all members
      </Button>
    </section>
  );
}
