import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { trpc } from "../../server/trpc.ts";
import { PersonSelect, type PersonSelectProps } from "../../ui/person-select.tsx";
import { usePersonSearch } from "../../ui/use-person-search.ts";

interface PersonFilterProps extends Pick<PersonSelectProps, "label" | "chosen" | "chosenName" | "onChoose"> {
  readonly workspaceId: string;
}

/** A choice among the members. */
export function PersonFilter({ workspaceId, ...select }: PersonFilterProps): ReactElement {
  const search = usePersonSearch();
  const { data } = useQuery(
    trpc.members.list.queryOptions(
      { workspaceId, search: search.text ?? "" },
      { enabled: search.text !== undefined, placeholderData: keepPreviousData },
    ),
  );
  const people = (data?.items ?? []).map(({ userId: id, name, email }) => ({ id, name, email }));
  return <PersonSelect {...select} search={search} people={people} nothingFound="No member matches" />;
}
