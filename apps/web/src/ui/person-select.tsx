import { Select } from "@mantine/core";
import type { ReactElement } from "react";
import type { PersonSearch } from "./use-person-search.ts";

interface FoundPerson {
  readonly id: string;
  readonly name: string;
  /** Null for a service account. */
  readonly email: string | null;
}

export interface PersonSelectProps {
  readonly label: string;
  /** The ID of the chosen person. */
  readonly chosen: string | undefined;
  readonly chosenName: string | undefined;
  readonly onChoose: (id: string | undefined) => void;
  readonly search: PersonSearch;
  /** The results of the search. */
  readonly people: readonly FoundPerson[];
  readonly nothingFound: string;
}

const anyone = { value: "any", label: "Anyone" };

/** A choice among people, whom the server searches. */
export function PersonSelect(props: PersonSelectProps): ReactElement {
  const { label, chosen, chosenName, onChoose, search, people, nothingFound } = props;
  const found = people.map(({ id, name, email }) => ({
    value: id,
    label: email === null ? name : `${name} (${email})`,
  }));
  // A person who was removed isn't found.
  const isMissing = chosen !== undefined && !found.some(({ value }) => value === chosen);
  const former = isMissing ? [{ value: chosen, label: chosenName ?? chosen }] : [];
  return (
    <Select
      label={label}
      searchable
      data={[anyone, ...former, ...found]}
      filter={({ options }) => options} // The server searches.
      value={chosen ?? anyone.value}
      onFocus={search.onUse}
      onSearchChange={search.onText}
      onKeyDown={() => search.onTyping(true)}
      onDropdownClose={() => search.onTyping(false)}
      nothingFoundMessage={nothingFound}
      onChange={(value) => onChoose(value === anyone.value ? undefined : (value ?? undefined))}
    />
  );
}
