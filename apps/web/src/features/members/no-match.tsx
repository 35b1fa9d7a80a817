import { Button } from "@mantine/core";
import type { ReactElement } from "react";
import { roleTitles } from "../../server/roles.ts";
import type { Role } from "../../server/trpc.ts";
import { EmptyPanel } from "../../ui/empty-panel.tsx";
import { Quoted } from "../../ui/quoted.tsx";

interface NoMatchProps {
  readonly search: string;
  readonly role: Role | undefined;
  readonly onClear: () => void;
}

/** Replaces the list if no member matches the search and the role. */
export function NoMatch({ search, role, onClear }: NoMatchProps): ReactElement {
  return (
    <EmptyPanel
      title={
        search === "" ? (
          "No member has this role"
        ) : (
          <>
            No member matches <Quoted>{search}</Quoted>
          </>
        )
      }
      action={
        <Button variant="default" onClick={onClear}>
          {role ? "Clear filters" : "Clear search"}
        </Button>
      }
    >
      Search covers names and email addresses.
      {role && ` Only members with the role ${roleTitles[role].toLowerCase()} are searched.`}
    </EmptyPanel>
  );
}
