import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { trpc } from "../../server/trpc.ts";
import { PersonSelect, type PersonSelectProps } from "../../ui/person-select.tsx";
import { usePersonSearch } from "../../ui/use-person-search.ts";

/** A choice among the users of the instance. */
export function UserFilter(
  select: Pick<PersonSelectProps, "label" | "chosen" | "chosenName" | "onChoose">,
): ReactElement {
  const search = usePersonSearch();
  const { data, isError, isPlaceholderData } = useQuery(
    trpc.operator.users.queryOptions(
      { search: search.text ?? "" },
      { enabled: search.text !== undefined, placeholderData: keepPreviousData },
    ),
  );
  const isLoaded = search.isCurrent && data !== undefined && !isPlaceholderData;
  const shown = isLoaded || search.typed === undefined ? data : undefined;
  return (
    <PersonSelect
      {...select}
      search={search}
      people={shown?.items ?? []}
      nothingFound={isError ? "Couldn’t load users" : isLoaded ? "No user matches" : "Loading…"}
    />
  );
}
