import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { trpc } from "../../server/trpc.ts";
import { nameOwner } from "../../ui/owner-name.tsx";
import { PersonSelect, type PersonSelectProps } from "../../ui/person-select.tsx";
import { usePersonSearch } from "../../ui/use-person-search.ts";

interface PersonFilterProps extends Pick<PersonSelectProps, "label" | "chosen" | "chosenName" | "onChoose"> {
  readonly workspaceId: string;
}

/** A choice among members and all others who have made changes, such as former members. */
export function PersonFilter({ workspaceId, ...select }: PersonFilterProps): ReactElement {
  const search = usePersonSearch();
  const { data, isError, isPlaceholderData } = useQuery(
    trpc.audit.actors.queryOptions(
      { workspaceId, search: search.text ?? "" },
      { enabled: search.text !== undefined, placeholderData: keepPreviousData },
    ),
  );
  const isLoaded = search.isCurrent && data !== undefined && !isPlaceholderData;
  const shown = isLoaded || search.typed === undefined ? data : undefined;
  const people = (shown ?? []).map(({ id, name, kind, email }) => ({
    id,
    name: nameOwner({ name, kind }),
    email,
  }));
  return (
    <PersonSelect
      {...select}
      search={search}
      people={people}
      nothingFound={isError ? "Couldn’t load actors" : isLoaded ? "No actor matches" : "Loading…"}
    />
  );
}
