import { maxLength } from "@latchkey/limits";
import { Select } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { trpc } from "../../server/trpc.ts";

interface PersonFilterProps {
  readonly label: string;
  readonly workspaceId: string;
  /** The ID of the chosen user. */
  readonly chosen: string | undefined;
  readonly chosenName: string | undefined;
  readonly onChoose: (userId: string | undefined) => void;
}

const debounceMilliseconds = 200;
const anybody = { value: "any", label: "Anybody" };

/** A choice among the members, whom the server searches. Loads them when it gets the focus for the first time. */
export function PersonFilter(props: PersonFilterProps): ReactElement {
  const { label, workspaceId, chosen, chosenName, onChoose } = props;
  const [isUsed, setIsUsed] = useState(false);
  const [text, setText] = useState("");
  const [isTyping, setIsTyping] = useState(false);
  const [search] = useDebouncedValue(
    isTyping ? text.trim().slice(0, maxLength.search) : "",
    debounceMilliseconds,
  );
  const { data } = useQuery(
    trpc.members.list.queryOptions(
      { workspaceId, search },
      { enabled: isUsed, placeholderData: keepPreviousData },
    ),
  );
  const members = (data?.items ?? []).map(({ userId, name, email }) => ({
    value: userId,
    label: `${name} (${email})`,
  }));
  // A former member isn't in the list.
  const isMissing = chosen !== undefined && !members.some(({ value }) => value === chosen);
  const former = isMissing ? [{ value: chosen, label: chosenName ?? chosen }] : [];
  return (
    <Select
      label={label}
      searchable
      data={[anybody, ...former, ...members]}
      filter={({ options }) => options} // The server searches.
      value={chosen ?? anybody.value}
      onFocus={() => setIsUsed(true)}
      onSearchChange={setText}
      onKeyDown={() => setIsTyping(true)}
      onDropdownClose={() => setIsTyping(false)}
      nothingFoundMessage="No member matches"
      onChange={(value) => onChoose(value === anybody.value ? undefined : (value ?? undefined))}
    />
  );
}
