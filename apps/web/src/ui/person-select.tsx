import { Select } from "@mantine/core";
import { type ReactElement, useState } from "react";
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
  /** The results of the search; none while it loads. */
  readonly people: readonly FoundPerson[];
  readonly nothingFound: string;
}

const anyone = { value: "any", label: "Anyone" };

/** A choice among people, whom the server searches. While the user types, the list has only the people who match. */
export function PersonSelect(props: PersonSelectProps): ReactElement {
  const { label, chosen, chosenName, onChoose, search, people, nothingFound } = props;
  const found = people.map(({ id, name, email }) => ({
    value: id,
    label: email === null ? name : `${name} (${email})`,
  }));
  // The name stays the same when the person isn't among the results of the next search.
  const [lastFound, setLastFound] = useState(anyone);
  const match = found.find(({ value }) => value === chosen);
  if (match && (match.value !== lastFound.value || match.label !== lastFound.label)) setLastFound(match);
  // A person who was removed isn't found.
  const former =
    chosen !== undefined && !match
      ? [{ value: chosen, label: chosen === lastFound.value ? lastFound.label : (chosenName ?? chosen) }]
      : [];
  const shown = match ?? former[0] ?? anyone;
  return (
    <Select
      label={label}
      searchable
      data={search.typed ? found : [anyone, ...former, ...found]}
      filter={({ options: matching }) => matching} // The server searches.
      value={shown.value}
      // Only what the user types is searched for. Mantine also reports the label of the chosen option as a search.
      searchValue={search.typed ?? shown.label}
      onInput={({ currentTarget }) => search.onType(currentTarget.value)}
      onFocus={search.onUse}
      onBlur={() => search.onType(undefined)}
      onOptionSubmit={() => search.onType(undefined)}
      nothingFoundMessage={nothingFound}
      onChange={(value) => onChoose(value === anyone.value ? undefined : (value ?? undefined))}
    />
  );
}
