import { Select } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { trpc } from "../../server/trpc.ts";
import { DayFilter } from "../../ui/day-filter.tsx";
import classes from "../../ui/filters.module.css";
import { IdFilter } from "../../ui/id-filter.tsx";
import { PersonSelect, type PersonSelectProps } from "../../ui/person-select.tsx";
import { TimeZone } from "../../ui/time-zone.tsx";
import { usePersonSearch } from "../../ui/use-person-search.ts";
import { instanceActionTitles, isInstanceAction } from "./instance-action-titles.ts";
import { isLogTarget, type LogFilter } from "./log-search.ts";

interface LogFiltersProps {
  readonly search: LogFilter;
  /** The email address of the person in `search.actor`, if an event shows it. */
  readonly actorName: string | undefined;
  /** Gets the filters to change, undefined for those to remove. */
  readonly onChange: (change: { readonly [Name in keyof LogFilter]?: string | undefined }) => void;
}

const anyAction = { value: "any", label: "Everything" };
const actions = Object.entries(instanceActionTitles)
  .map(([value, label]) => ({ value, label }))
  .sort((one, other) => one.label.localeCompare(other.label));

/** The filters of the instance log, which the URL contains. */
export function LogFilters({ search, actorName, onChange }: LogFiltersProps): ReactElement {
  return (
    <div className={classes.filters}>
      <Select
        label="Event"
        searchable
        data={[anyAction, ...actions]}
        value={search.action ?? anyAction.value}
        nothingFoundMessage="No event matches"
        onChange={(value) => onChange({ action: isInstanceAction(value) ? value : undefined })}
      />
      <UserFilter
        label="Actor"
        chosen={search.actor}
        chosenName={actorName}
        onChoose={(actor) => onChange({ actor })}
      />
      <IdFilter
        label="User or workspace"
        isId={isLogTarget}
        error="Enter the ID of a user or a workspace."
        value={search.target}
        onChoose={(target) => onChange({ target })}
      />
      <DayFilter label="From" value={search.from} onChoose={(from) => onChange({ from })} />
      <DayFilter label="To" value={search.to} onChoose={(to) => onChange({ to })} />
      <TimeZone />
    </div>
  );
}

/** A choice among the users of the instance. */
function UserFilter(
  select: Pick<PersonSelectProps, "label" | "chosen" | "chosenName" | "onChoose">,
): ReactElement {
  const search = usePersonSearch();
  const { data } = useQuery(
    trpc.operator.users.queryOptions(
      { search: search.text ?? "" },
      { enabled: search.text !== undefined, placeholderData: keepPreviousData },
    ),
  );
  return (
    <PersonSelect {...select} search={search} people={data?.items ?? []} nothingFound="No user matches" />
  );
}
